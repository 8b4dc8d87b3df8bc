import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig, type V1Pod } from '@kubernetes/client-node';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { Watched } from '../../../controller/runners/kubernetes/watched.ts';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { steppedClock } from '../../fakes/clock.ts';

const RESYNC_MS = 48_000; // a minute less a fifth, for a random number of 0
const RESTART_MS = 500;

/** An API server whose watch stays silent, and how often its pods were listed; the second list fails. */
async function silentWatch() {
  const watching = new Set<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(200).flushHeaders(); // a watch in which nothing happens
    watching.add(response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    // skipTLSVerify: the client refuses plain http without it
    { name: 'c', server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true },
    { name: 'u' },
  );
  const clock = steppedClock();
  const counts = { lists: 0 };
  const pods = new Watched<V1Pod>({
    config,
    path: '/api/v1/namespaces/n/pods',
    list: async () => {
      counts.lists += 1;
      if (counts.lists === 2) throw new Error('the API server restarts');
      const items = [{ metadata: { name: `p${counts.lists}`, namespace: 'n' } }];
      return { metadata: { resourceVersion: '1' }, items };
    },
    keep: pod => pod,
    clock,
    log: pino({ level: 'silent' }),
  });
  onTestFinished(async () => {
    pods.stop();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });
  await pods.start();
  const sendPod = (name: string, version: number) => {
    const object = { metadata: { name, namespace: 'n', resourceVersion: `${version}` } };
    for (const watch of watching) watch.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
  };
  return { pods, clock, counts, sendPod, seen: () => pods.all().map(({ metadata }) => metadata?.name) };
}

it('lists again at an interval, also after a list that failed while the watch went on', async () => {
  const { pods, clock, counts, seen } = await silentWatch();
  expect(seen()).toEqual(['p1']);
  const nextList = async (afterMs: number) => {
    await eventually('it waits', () => clock.idleMs().includes(afterMs));
    const before = counts.lists;
    clock.advance(afterMs - 1);
    expect(counts.lists).toBe(before);
    clock.advance(1);
    await eventually('a list', () => counts.lists > before);
  };
  await nextList(RESYNC_MS); // fails
  expect(seen()).toEqual(['p1']); // what was listed last stays
  await nextList(RESTART_MS);
  await eventually('the new list', () => seen()[0] === 'p3');
  await nextList(RESYNC_MS);
  await eventually('the next one', () => seen()[0] === 'p4');

  const signal = neverAborts();
  const relisted = pods.changed('p4', 'n', pods.get('p4', 'n'), 90_000, signal);
  await nextList(RESYNC_MS);
  await relisted; // those that wait for a pod look again after each list
  const stopped = pods.changed('p5', 'n', pods.get('p5', 'n'), 90_000, signal);
  pods.stop();
  await stopped;
});

it('wakes who waits for a pod when that pod changes, and by no change of another', async () => {
  const { pods, clock, sendPod } = await silentWatch();
  const signal = neverAborts();
  const woken: string[] = [];
  const wait = async (name: string) => {
    await pods.changed(name, 'n', pods.get(name, 'n'), 90_000, signal);
    woken.push(name);
  };
  const waits = ['p1', 'unborn', 'other'].map(wait);
  for (let version = 2; version < 12; version++) sendPod('third', version);
  await eventually('the changes of a third one', () => pods.get('third', 'n')?.metadata?.resourceVersion === '11');
  expect(woken).toEqual([]);
  sendPod('p1', 12);
  await waits[0];
  sendPod('unborn', 13);
  await waits[1];
  expect(woken).toEqual(['p1', 'unborn']);
  await pods.changed('p1', 'n', undefined, 90_000, signal); // it is another one already than the caller saw
  clock.advance(90_000);
  await waits[2]; // its time is over
});
