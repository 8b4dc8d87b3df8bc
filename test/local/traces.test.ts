import { it } from 'vitest';
import { fakeCollector } from '../fakes/collector.ts';
import { expectTraces } from './expect-traces.ts';

it('a lease and its calls are traced from their callers to browser and database, and a login leaves no secret in a span', async () => {
  await using collector = await fakeCollector();
  await expectTraces(collector);
});
