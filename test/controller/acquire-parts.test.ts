import { expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { parseExposition } from '../manifests/exported-metrics.ts';
import { type Stack, startStack } from './stack.ts';

/** Counts and sums of one histogram, by the values of its label. */
async function histogram(stack: Stack, name: string, label: string) {
  const { body } = await stack.call('GET', '/metrics', { token: null });
  const { samples } = parseExposition(String(body));
  const of = (suffix: string) =>
    Object.fromEntries(
      samples.filter(each => each.name === `${name}_${suffix}`).map(each => [each.labels[label], each.value]),
    );
  return { counts: of('count'), sums: of('sum') };
}

const sumOf = (values: Record<string, number>) => Object.values(values).reduce((sum, value) => sum + value, 0);

it('divides a warm and a cold acquire into parts that do not overlap', async () => {
  await using stack = await startStack();
  await eventually(
    'a warm runner',
    async () => (await stack.database.query(`select 1 from omicron.runners where state = 'warm'`)).length,
  );
  await stack.lease();
  expect((await histogram(stack, 'omicron_lease_start_seconds', 'start')).counts).toEqual({ warm: 1 });
  expect((await histogram(stack, 'omicron_acquire_part_seconds', 'part')).counts).toEqual({
    ...{ claim: 1, assign: 1, ready: 1 },
  });

  await using cold = await startStack({ OMICRON_POOL_IDLE: 0 });
  await cold.lease();
  const start = await histogram(cold, 'omicron_lease_start_seconds', 'start');
  const part = await histogram(cold, 'omicron_acquire_part_seconds', 'part');
  expect(start.counts).toEqual({ cold: 1 });
  expect(part.counts).toEqual({ claim: 1, runner: 1, assign: 1, ready: 1 });
  expect(sumOf(part.sums)).toBeLessThanOrEqual(sumOf(start.sums));
});

it('counts the line as a part for those who got a place, and every end of a wait', async () => {
  await using stack = await startStack({ [ENV.capacity]: 1, [ENV.poolIdle]: 0 });
  const first = await stack.lease();
  const second = stack.getOrCreate({ conversation_id: 'second', wait_seconds: 20 });
  await eventually(
    'a caller waits',
    async () => (await stack.database.query('select 1 from omicron.waiting_callers')).length,
  );
  await stack.call('DELETE', `/internal/browser-sessions/${first.session_id}`);
  expect((await second).status).toBe(200);
  expect((await histogram(stack, 'omicron_wait_seconds', 'outcome')).counts).toEqual({ place: 1 });
  expect((await histogram(stack, 'omicron_acquire_part_seconds', 'part')).counts).toMatchObject({ line: 1, claim: 2 });
});

it('says why get-or-creates were refused, and which steps of the database and of launches took how long', async () => {
  await using stack = await startStack({ [ENV.poolIdle]: 0, [ENV.userLimit]: 1 });
  await stack.lease();
  expect((await stack.getOrCreate({ conversation_id: 'another' })).status).toBe(429);
  expect((await histogram(stack, 'omicron_session_create_latency_seconds', 'outcome')).counts).toEqual({
    ...{ ready: 1, refused: 1 },
  });
  expect((await histogram(stack, 'omicron_launch_part_seconds', 'part')).counts).toEqual({
    ...{ create: 1, warm: 1, record: 1 },
  });
  const text = String((await stack.call('GET', '/metrics', { token: null })).body);
  expect(text).toContain('omicron_session_create_refusals_total{code="user_quota_exceeded"} 1');
  expect(text).toContain('omicron_sql_calls_total{step="redeem"} 1');
  expect(text).toMatch(/omicron_sql_seconds_total\{step="acquire"\} 0\.\d/);
});
