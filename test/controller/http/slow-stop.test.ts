import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { leaseAnswer } from '../../../contract/session.ts';
import { signServiceToken } from '../../../contract/tokens.ts';
import { eventually } from '../../eventually.ts';
import { deployment, problemOf, startStack } from '../stack.ts';

/** Fastify's own limit for the hooks of a close is 10 s. */
const SLOW_START_MS = 10_500;

it('stops gracefully: what runs is finished, however slowly, what is new is refused, runners stay leased', async () => {
  await using shared = await deployment({ OMICRON_POOL_IDLE: 0 });
  await using stack = await startStack({}, shared);
  const kept = await stack.lease();
  const letGo = shared.machine.hold('warm');
  const running = stack.getOrCreate({ user_id: 'zoe' });
  await eventually('a start under way', () => shared.machine.created.length === 2);
  const token = await signServiceToken(stack.serviceKey);
  const stopping = stack.stop();
  const late = await stack.call('GET', '/internal/browser-sessions', { token }).then(
    answer => problemOf(answer).code,
    () => 'closed',
  );
  expect(['shutting_down', 'closed']).toContain(late);
  await sleep(SLOW_START_MS);
  letGo();
  const lease = leaseAnswer.parse((await running).body);
  expect(lease.status).toBe('ready');
  await stopping;
  for (const { mcp_url, mcp_headers } of [kept, lease])
    expect((await fetch(mcp_url ?? '', { method: 'POST', headers: mcp_headers ?? {} })).status).toBe(200);
  await expect(stack.call('GET', '/healthz')).rejects.toThrow();
});
