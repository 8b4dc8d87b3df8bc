import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { ENV } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { leaseAnswer } from '../../../contract/session.ts';
import { eventually } from '../../eventually.ts';
import { movableClock } from '../../fakes/movable-clock.ts';
import { protocol } from '../protocol.ts';
import { deployment, problemOf, type Stack, startStack } from '../stack.ts';

// Step 1 to 7 of a request on a whole controller, Postgres and runners that keep a real one's word but have no
// browser.

const sessionOf = async (stack: Stack, sessionId: string) =>
  (await stack.call('GET', `/internal/browser-sessions/${sessionId}`)).body;

/** Whether the lease's own token is served at its endpoint. */
const served = async (lease: { mcp_url: string | null; mcp_headers: Record<string, string> | null }) => {
  const answer = await fetch(lease.mcp_url ?? '', { method: 'POST', headers: lease.mcp_headers ?? {} });
  return answer.ok ? await answer.json() : answer.status;
};

it('gives 100 callers at once one lease on one runner', async () => {
  await using stack = await startStack();
  const answers = await Promise.all(Array.from({ length: 100 }, () => stack.lease()));
  const [first] = answers;
  expect(new Set(answers.map(lease => JSON.stringify([lease.session_id, lease.epoch, lease.mcp_url]))).size).toBe(1);
  expect(await served(first ?? answers[0] ?? expect.fail('no answer'))).toEqual({
    session_id: first?.session_id,
    epoch: 1,
  });
  const redeemed = [...stack.machine.runners.values()].filter(runner => runner.redeemed);
  expect(redeemed).toHaveLength(1);
});

it('starts cold when the pool is empty, by the same path', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const lease = await stack.lease();
  expect(lease).toMatchObject({ status: 'ready', epoch: 1 });
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 1 });
  expect(stack.machine.created).toHaveLength(1);
});

it('answers 202 with Retry-After when the wait is over, and goes on without its caller', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const letGo = stack.machine.hold('warm');
  const answer = await stack.getOrCreate({ wait_seconds: 0.2 });
  expect(answer.status).toBe(202);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(leaseAnswer.parse(answer.body)).toMatchObject({ status: 'starting', mcp_url: null, mcp_headers: null });
  expect((await stack.getOrCreate({ wait_seconds: 0 })).status).toBe(202);
  letGo();
  const lease = await stack.lease();
  expect(lease.epoch).toBe(1);
  expect(stack.machine.created).toHaveLength(1);
});

it('gives a runner that refuses its assignment up for another one, in a new epoch', async () => {
  await using stack = await startStack();
  stack.machine.failNext(new OmicronError('assignment_refused', 'This runner belongs to another lease.'), 'assign');
  const lease = await stack.lease();
  expect(lease.epoch).toBe(2);
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 2 });
});

it('[S12] tries as many runners as the deployment says', async () => {
  await using stack = await startStack({ [ENV.startAttempts]: 1 });
  stack.machine.failNext(new OmicronError('runner_start_failed', 'Its disk is full.'), 'assign');
  expect((await stack.getOrCreate()).status).toBe(503);
  expect((await stack.lease()).epoch).toBe(2);
});

it('tries three runners and then says why, to the caller that leads and to those that wait', async () => {
  await using stack = await startStack();
  for (let n = 0; n < 3; n++)
    stack.machine.failNext(new OmicronError('runner_start_failed', `Its disk is full (${n}).`), 'assign');
  const letGo = stack.machine.hold('assign');
  const callers = [stack.getOrCreate(), stack.getOrCreate(), stack.getOrCreate()];
  await eventually(
    'a claim',
    async () => (await stack.database.query('select 1 from omicron.browser_sessions')).length,
  );
  letGo();
  const answers = await Promise.all(callers);
  // one whose wait ended just after the last attempt may have led a start of its own, which succeeds
  const refused = answers.filter(answer => answer.status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) {
    expect(answer.status).toBe(503);
    expect(problemOf(answer)).toMatchObject({
      code: 'runner_start_failed',
      detail: expect.stringContaining('disk is full'),
    });
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  const [row] = await stack.database.query<{ epochs: number }>('select max(epoch)::int as epochs from omicron.runners');
  expect(row?.epochs).toBeGreaterThanOrEqual(3);
});

it('gives a runner that dies under its assignment up for another one', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 1 });
  const letGo = stack.machine.hold('redeem');
  const answer = stack.lease();
  const first = await eventually('an assignment', () =>
    [...stack.machine.runners.values()].find(runner => runner.phase === 'assigning'),
  );
  first.kill();
  letGo();
  const lease = await answer;
  expect(lease.epoch).toBeGreaterThan(1);
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: lease.epoch });
});

it('answers with the redemption; the agent waits until its runner has read what it redeemed', async () => {
  await using stack = await startStack();
  const letGo = stack.machine.hold('redeemed');
  const lease = await stack.lease();
  expect(lease).toMatchObject({ status: 'ready', epoch: 1 });
  expect(await sessionOf(stack, lease.session_id)).toMatchObject({ status: 'ready' });
  expect(await stack.lease()).toEqual(expect.objectContaining({ mcp_url: lease.mcp_url, epoch: 1 })); // renewed
  const early = served(lease);
  const order: string[] = [];
  void early.then(() => order.push('served'));
  await stack.lease(); // meanwhile the controller and the database answer others
  order.push('let go');
  letGo();
  expect(await early).toEqual({ session_id: lease.session_id, epoch: 1 });
  expect(order).toEqual(['let go', 'served']);
  const timeline = (await stack.call('GET', `/internal/browser-sessions/${lease.session_id}/events`)).body;
  const { events } = timeline as { events: { kind: string }[] }; // EventList
  expect(events.map(({ kind }) => kind)).toEqual(['session.claimed', 'session.ready']);
});

it('ends the lease of a runner that fails after its redemption, and the next request gets another one', async () => {
  await using stack = await startStack();
  stack.machine.failNext(new OmicronError('runner_start_failed', 'Its disk is full.'), 'redeemed');
  const first = await stack.lease();
  expect(first.epoch).toBe(1);
  const ended = await eventually('its lease has ended', async () => {
    const session = (await sessionOf(stack, first.session_id)) as { status: string }; // Session
    return session.status === 'error' && session;
  });
  expect(ended).toMatchObject({ ended_reason: 'runner_lost', error: 'Its disk is full.' });
  const second = await stack.lease();
  expect(second).toMatchObject({ session_id: first.session_id, epoch: 2 });
  expect(await served(second)).toEqual({ session_id: second.session_id, epoch: 2 });
});

it('keeps the lease of a runner whose answer was lost after its redemption', async () => {
  await using stack = await startStack();
  const letGo = stack.machine.hold('redeemed');
  const lease = await stack.lease();
  const { runner } = await stack.machine.leased();
  runner.losesAnswers = true;
  letGo();
  await eventually('the controller has looked', () => stack.logged().includes('answer to the assignment lost'));
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 1 });
  expect(await stack.lease()).toMatchObject({ epoch: 1, mcp_url: lease.mcp_url });
});

it('is ready although the answer to its redemption was lost on its way from the database', async () => {
  await using stack = await startStack();
  stack.loseAnswer('omicron.redeem');
  const lease = await stack.lease();
  expect(lease).toMatchObject({ status: 'ready', epoch: 1 });
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 1 });
});

/** How long the controller waits for an answer of a runner. */
const TIMEOUTS: Record<string, number> = { 'POST /assign': 10_000, 'GET /healthz': 1_000, 'POST /drain': 3_000 };

it('gives a runner that never answers up for another one, and no other lease gets it', async () => {
  const clock = movableClock();
  await using stack = await startStack({ OMICRON_POOL_IDLE: 2 }, undefined, clock);
  const warm = await eventually('two warm runners', async () => {
    const rows = await stack.database.query<{ id: string }>(
      `select id from omicron.runners where state = 'warm' order by warm_at`,
    );
    return rows.length === 2 ? rows : undefined;
  });
  const unanswered: string[] = [];
  stack.machine.runner(warm[0]?.id).hang(route => {
    unanswered.push(route);
    clock.advance(TIMEOUTS[route] ?? 0);
  });
  const lease = await stack.lease();
  expect(unanswered.slice(0, 2)).toEqual(['POST /assign', 'GET /healthz']);
  expect(lease.epoch).toBe(2);
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 2 });
  expect(stack.machine.runner(warm[1]?.id).assignment?.session_id).toBe(lease.session_id);
});

it('takes over from a claimer that stopped beating: its waiter leads a new epoch', async () => {
  await using stack = await startStack({ OMICRON_CLAIM_SECONDS: 1 });
  await eventually('warm runners', async () => {
    const rows = await stack.database.query(`select 1 from omicron.runners where state = 'warm'`);
    return rows.length === 2;
  });
  // another replica claims and dies before it sends anything
  const p = protocol(stack.database, { claimSeconds: 1 });
  const dead = await p.claim();
  const lease = await stack.lease();
  expect(lease).toMatchObject({ session_id: dead.session.id, epoch: 2 });
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 2 });
  // what the dead claimer may still send is refused
  expect(await p.redeem(dead)).toMatchObject({ outcome: 'refused' });
});

it('starts a new epoch for a lease whose runner died, instead of handing out its address', async () => {
  await using stack = await startStack();
  const first = await stack.lease();
  const { runner_id } = (await sessionOf(stack, first.session_id)) as { runner_id: string }; // Session
  stack.machine.runner(runner_id).kill();
  const second = await stack.lease();
  expect(second).toMatchObject({ session_id: first.session_id, epoch: 2 });
  expect(second.mcp_url).not.toBe(first.mcp_url);
  expect(await served(second)).toEqual({ session_id: first.session_id, epoch: 2 });
});

it('says why a browser cannot start, and writes it to the session', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  stack.machine.failNext(new OmicronError('runner_start_failed', 'chromium: error while loading libnss3.so'));
  const answer = await stack.getOrCreate();
  expect(answer.status).toBe(503);
  const problem = problemOf(answer);
  expect(problem).toMatchObject({ code: 'runner_start_failed', detail: expect.stringContaining('libnss3.so') });
  expect(await sessionOf(stack, problem.session_id ?? '')).toMatchObject({
    status: 'error',
    ended_reason: 'runner_start_failed',
    error: expect.stringContaining('libnss3.so'),
  });
  const lease = await stack.lease(); // the next request starts another one
  expect(lease.epoch).toBe(2);
});

it('passes sandbox_runtime_required through, without advice to try again', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  stack.machine.failNext(new OmicronError('sandbox_runtime_required', 'Allow unprivileged user namespaces.'));
  const answer = await stack.getOrCreate();
  expect(problemOf(answer)).toMatchObject({
    code: 'sandbox_runtime_required',
    detail: expect.stringContaining('user namespaces'),
  });
  expect(answer.headers.get('retry-after')).toBeNull();
});

it('gives a runner whose browser crashed under its assignment up for another one', async () => {
  await using stack = await startStack();
  stack.machine.failNext(new OmicronError('browser_crashed', 'The browser process ended.'), 'assign');
  const lease = await stack.lease();
  expect(lease.epoch).toBe(2);
  expect(await served(lease)).toEqual({ session_id: lease.session_id, epoch: 2 });
});

it('says runner_start_failed and when to retry, and no sandbox, when three browsers crashed', async () => {
  await using stack = await startStack();
  for (let n = 0; n < 3; n++)
    stack.machine.failNext(new OmicronError('browser_crashed', 'The browser process ended.'), 'assign');
  const answer = await stack.getOrCreate();
  expect(answer.status).toBe(503);
  expect(problemOf(answer)).toMatchObject({
    code: 'runner_start_failed',
    detail: 'The browser process ended.',
    retry_after_seconds: 1,
  });
  expect(await sessionOf(stack, problemOf(answer).session_id ?? '')).toMatchObject({
    status: 'error',
    ended_reason: 'runner_start_failed',
    epoch: 3,
  });
  expect((await stack.lease()).epoch).toBe(4);
});

it('answers a caller that waits for a start that it was ended by DELETE', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const letGo = stack.machine.hold('warm');
  const { body } = await stack.getOrCreate({ wait_seconds: 0 });
  const { session_id } = leaseAnswer.parse(body);
  const waiting = stack.getOrCreate({ wait_seconds: 20 });
  await eventually('it waits', () => stack.queried('claim_until > clock_timestamp()') > 0);
  expect((await stack.call('DELETE', `/internal/browser-sessions/${session_id}?epoch=1`)).status).toBe(200);
  expect(problemOf(await waiting)).toMatchObject({ code: 'lease_ended', session_id });
  letGo();
  await eventually('nothing is left', () => stack.machine.runners.size === 0);
});

it('makes a lease wait until the runner of the epoch before has stopped', async () => {
  const clock = movableClock();
  await using stack = await startStack({ OMICRON_POOL_IDLE: 2 }, undefined, clock);
  const first = await stack.lease();
  const { runner_id } = (await sessionOf(stack, first.session_id)) as { runner_id: string }; // Session
  const old = stack.machine.runner(runner_id);
  // it acknowledges nothing, but its process ends when asked to
  old.hang(route => clock.advance(TIMEOUTS[route] ?? 0));
  await stack.call('DELETE', `/internal/browser-sessions/${first.session_id}?epoch=1`);
  const second = await stack.lease();
  expect(old.exited).not.toBeNull();
  expect(second.epoch).toBe(2);
});

it('redeems no secrets while the secret store is unavailable, and says so', async () => {
  await using shared = await deployment({
    OMICRON_SECRET_STORE: 'vault-rest',
    SUPABASE_URL: 'http://127.0.0.1:9',
    SUPABASE_SERVICE_ROLE_KEY: 'k',
  });
  shared.machine.redeemPatienceMs = 300;
  await using stack = await startStack({}, shared);
  const answer = await stack.getOrCreate();
  expect(answer.status).toBe(503);
  expect(problemOf(answer).code).toBe('secrets_unavailable');
  const [row] = await stack.database.query<{ status: string; error: string; epoch: number }>(
    'select status, error, epoch from omicron.browser_sessions',
  );
  expect(row).toMatchObject({ status: 'error', epoch: 1, error: expect.stringContaining('vault') });
});

it('leases as soon as the secret store is available again: the one redemption was not spent', async () => {
  let away = 3;
  const vault = createServer((_request, response) => {
    away -= 1;
    response.writeHead(away >= 0 ? 500 : 200, { 'content-type': 'application/json' }).end(away >= 0 ? '{}' : 'null');
  });
  await new Promise<void>(resolve => vault.listen(0, '127.0.0.1', resolve));
  const address = vault.address();
  const port = typeof address === 'object' ? address?.port : 0;
  try {
    await using stack = await startStack({
      OMICRON_SECRET_STORE: 'vault-rest',
      SUPABASE_URL: `http://127.0.0.1:${port}`,
      SUPABASE_SERVICE_ROLE_KEY: randomUUID(),
    });
    expect(await stack.lease()).toMatchObject({ status: 'ready', epoch: 1 });
  } finally {
    vault.close();
  }
});
