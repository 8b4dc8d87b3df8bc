import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig, type V1Pod } from '@kubernetes/client-node';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { Watched } from '../../../controller/runners/kubernetes/watched.ts';
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
  return { pods, clock, counts, seen: () => pods.all().map(({ metadata }) => metadata?.name) };
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
  const { kicks } = pods.changed;
  expect(kicks).toBeGreaterThan(2); // those that wait for a pod look again after each list
  pods.stop();
  expect(pods.changed.kicks).toBe(kicks + 1);
});
