import { CoreV1Api } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { ClusterConnections } from '../../../controller/runners/kubernetes/kept-connections.ts';
import { fakeApiServer } from '../../fakes/api-server.ts';
import { steppedClock } from '../../fakes/clock.ts';

const namespace = 'runners';

it('calls the API server over connections that it keeps, and over others once certificates may have been renewed', async () => {
  await using server = await fakeApiServer(namespace);
  const clock = steppedClock();
  const config = new ClusterConnections(clock);
  config.loadFromString(server.config.exportConfig());
  const core = config.makeApiClient(CoreV1Api);
  const call = async (rounds: number, atOnce: number) => {
    for (let n = 0; n < rounds; n++)
      await Promise.all(Array.from({ length: atOnce }, () => core.listNamespacedPod({ namespace })));
  };
  await call(50, 1);
  expect(server.connections()).toBeLessThanOrEqual(2); // one may still be reading an answer when the next call begins
  await call(10, 8);
  const before = server.connections();
  expect(before).toBeLessThanOrEqual(18);
  clock.advance(10_000);
  await call(1, 1);
  expect(server.connections()).toBe(before + 1);
});
