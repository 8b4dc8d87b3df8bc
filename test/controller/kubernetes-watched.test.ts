import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig, type V1Pod } from '@kubernetes/client-node';
import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { Watched } from '../../controller/runners/kubernetes/watched.ts';

afterEach(() => void vi.useRealTimers());

// skipTLSVerify: the client refuses plain http without it.
it('lists anew now and then, also after a list that failed while the watch went on', async () => {
  const watching = new Set<ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(200).flushHeaders(); // a watch in which nothing happens
    watching.add(response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true },
    { name: 'u' },
  );
  let lists = 0;
  const pods = new Watched<V1Pod>({
    config,
    path: '/api/v1/namespaces/n/pods',
    list: async () => {
      lists += 1;
      if (lists === 2) throw new Error('the API server restarts');
      return { metadata: { resourceVersion: '1' }, items: [{ metadata: { name: `p${lists}`, namespace: 'n' } }] };
    },
    log: pino({ level: 'silent' }),
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const started = pods.start();
  await vi.waitFor(() => expect(watching.size).toBe(1));
  await started;
  const seen = () => pods.all().map(({ metadata }) => metadata?.name);
  expect(seen()).toEqual(['p1']);
  for (let minute = 0; minute < 3; minute++) {
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen()).toHaveLength(1); // what was listed last stays
  }
  expect(lists).toBeGreaterThan(2);
  expect(seen()).toEqual([`p${lists}`]);
  pods.stop();
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});
