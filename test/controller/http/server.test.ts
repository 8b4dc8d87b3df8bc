import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { ENV, NAMESPACES, runnerHost, runnerName } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import type { LeaseAnswer, Session } from '../../../contract/session.ts';
import { eventually } from '../../eventually.ts';
import { cuttableWire } from '../../fakes/cut.ts';
import { emptyDatabaseUrl } from '../../postgres.ts';
import { protocol } from '../protocol.ts';
import { deployment, problemOf, type Stack, startStack } from '../stack.ts';

// Cases at the edges of a working controller: limits, an absent database, a stop, health and metrics.

const show = async (stack: Stack, sessionId: string) =>
  (await stack.call('GET', `/internal/browser-sessions/${sessionId}`)).body as Session; // checked by its route's schema

it('[O2] a heartbeat moves expiry and last use, with the epoch or without a body, and refuses what is over', async () => {
  await using stack = await startStack();
  const lease = await stack.lease();
  await protocol(stack.database).age(lease.session_id, 300);
  const before = await show(stack, lease.session_id);
  const beat = (body?: unknown) =>
    stack.call('POST', `/internal/browser-sessions/${lease.session_id}/heartbeat`, body === undefined ? {} : { body });
  const answer = await beat();
  expect(answer.status).toBe(200);
  const after = await show(stack, lease.session_id);
  expect(answer.body).toMatchObject({
    session_id: lease.session_id,
    status: 'ready',
    epoch: 1,
    expires_at: after.expires_at,
  });
  expect(Date.parse(after.expires_at) - Date.parse(before.expires_at)).toBeGreaterThan(290_000);
  expect(Date.parse(after.last_used_at)).toBeGreaterThan(Date.parse(before.last_used_at));
  expect((await beat({ epoch: 1 })).status).toBe(200);
  expect((await beat({})).status).toBe(200);
  expect(problemOf(await beat({ epoch: 2 }))).toMatchObject({ status: 409, code: 'lease_superseded' });
  await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}`);
  expect(problemOf(await beat())).toMatchObject({
    status: 409,
    code: 'lease_ended',
    detail: expect.stringContaining('released'),
  });
});

it('answers for an ended lease under the name that its runner had in a cluster, to the holder of its token', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const lease = await stack.lease();
  const { runner_id: runnerId } = await show(stack, lease.session_id);
  await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}`);
  const ask = (host: string, headers: Record<string, string> = lease.mcp_headers ?? {}) =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const accept = 'application/problem+json';
      const sent = request(`${stack.url}/mcp`, { method: 'POST', headers: { ...headers, accept, host } }, answer =>
        text(answer).then(body => resolve({ status: answer.statusCode, body }), reject),
      );
      sent.on('error', reject).end();
    });
  const name = `${runnerHost(runnerName(runnerId ?? ''), NAMESPACES.runners)}:8080`;
  expect(await ask(name)).toMatchObject({ status: 409, body: expect.stringContaining('lease_ended') });
  expect(await ask(name, { authorization: 'Bearer x' })).toMatchObject({ status: 401 });
  expect(await ask('localhost')).toMatchObject({ status: 404 });
});

it('answers a client that offers HTTP/2, as Java’s HttpClient does with each request', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': '' };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${stack.url}/healthz`, { headers }, resolve).on('error', reject).end();
  });
  expect([answer.statusCode, await text(answer)]).toEqual([200, '{"status":"ok"}']);
});

it('[O3] DELETE ends the lease once, whatever is repeated, and nothing of its runner stays', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const lease = await stack.lease();
  const path = `/internal/browser-sessions/${lease.session_id}`;
  for (const query of ['?epoch=1', '?epoch=1', ''])
    expect((await stack.call('DELETE', path + query)).body).toMatchObject({
      status: 'ended',
      ended_reason: 'released',
      mcp_url: null,
    });
  await eventually('the runner is gone', () => stack.machine.runners.size === 0);
  expect((await stack.call('GET', `${path}/artifacts`)).body).toMatchObject({
    artifacts: [{ state: 'stored', epoch: 1 }],
  });
  const next = await stack.lease();
  expect(next.epoch).toBe(2);
  expect((await stack.call('DELETE', `${path}?epoch=1`)).status).toBe(200); // late: of the lease before
  expect((await show(stack, lease.session_id)).status).toBe('ready');
  expect(problemOf(await stack.call('DELETE', `${path}?epoch=3`))).toMatchObject({ code: 'lease_superseded' });
});

it('says that credentials are missing before a browser is spent', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const refused = await stack.getOrCreate({ require_credentials: true });
  expect(problemOf(refused)).toMatchObject({ status: 422, code: 'credentials_not_configured' });
  expect(stack.machine.created).toEqual([]);
  await stack.call('PUT', '/internal/users/ada/credentials/shop', { body: { username: 'u', password: 'p' } });
  expect((await stack.getOrCreate({ require_credentials: true })).status).toBe(200);
  expect((await stack.machine.leased()).given.secrets).toEqual({ SHOP_USERNAME: 'u', SHOP_PASSWORD: 'p' });
  await stack.call('DELETE', '/internal/users/ada/credentials/shop');
  expect((await stack.getOrCreate({ require_credentials: true, conversation_id: 'c2' })).status).toBe(422);
});

it('[N3] says the limit, how many sessions are active, and when to retry', async () => {
  await using stack = await startStack({ OMICRON_USER_LIMIT: 2, OMICRON_CAPACITY: 3, OMICRON_POOL_IDLE: 0 });
  const first = await stack.lease({ conversation_id: 'c1', ttl_seconds: 50 });
  await stack.lease({ conversation_id: 'c2', ttl_seconds: 500 });
  const quota = await stack.getOrCreate({ conversation_id: 'c3' });
  expect(problemOf(quota)).toMatchObject({ status: 429, code: 'user_quota_exceeded', limit: 2, active: 2 });
  const seconds = Number(quota.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan((Date.parse(first.expires_at) - Date.now()) / 1000 - 1); // when the first one expires
  expect(seconds).toBeLessThanOrEqual(50);
  expect(problemOf(quota).retry_after_seconds).toBe(seconds);
  await stack.lease({ user_id: 'bob', ttl_seconds: 20 });
  const full = await stack.getOrCreate({ user_id: 'zoe', wait_seconds: 0 });
  expect(problemOf(full)).toMatchObject({ status: 429, code: 'capacity_exceeded', limit: 3, active: 3 });
  expect(Number(full.headers.get('retry-after'))).toBeLessThanOrEqual(20);
});

it('reuses the user’s oldest place when the deployment says so', async () => {
  await using stack = await startStack({ OMICRON_USER_LIMIT: 1, OMICRON_ON_USER_LIMIT: 'evict_oldest' });
  const old = await stack.lease({ conversation_id: 'c1' });
  await stack.lease({ conversation_id: 'c2' });
  expect(await show(stack, old.session_id)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
  const evicted = () =>
    fetch(old.mcp_url ?? '', { method: 'POST', headers: old.mcp_headers ?? {} }).then(
      it => it.status !== 200,
      () => true,
    );
  await eventually('the evicted browser serves no agent', evicted);
});

it('grants nothing while the database is unreachable, says when to retry, and recovers by itself', async () => {
  const direct = new URL(await emptyDatabaseUrl());
  await using wire = await cuttableWire(direct.hostname, Number(direct.port));
  const through = new URL(direct);
  through.port = String(wire.port);
  await using stack = await startStack({ [ENV.databaseUrl]: through.href });
  const lease = await stack.lease();
  wire.cut();
  const path = `/internal/browser-sessions/${lease.session_id}`;
  const calls = await Promise.all([
    stack.getOrCreate(),
    stack.getOrCreate({ user_id: 'zoe' }),
    stack.call('POST', `${path}/heartbeat`, { body: { epoch: 1 } }),
    stack.call('GET', path),
    stack.call('GET', '/internal/browser-sessions'),
    stack.call('DELETE', `${path}?epoch=1`),
    stack.call('GET', '/readyz'),
    stack.call('GET', '/health'),
    stack.call('GET', '/metrics'),
  ]);
  for (const answer of calls) {
    expect(problemOf(answer)).toMatchObject({ status: 503, code: 'store_unavailable' });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(answer.body)).not.toMatch(/ECONN|postgres|127\.0\.0\.1/);
  }
  expect((await stack.call('GET', '/healthz')).status).toBe(200); // the process lives: restarting it would not help
  wire.restore();
  await eventually('readiness', async () => (await stack.call('GET', '/readyz')).status === 200);
  expect(await stack.lease()).toMatchObject({ session_id: lease.session_id, epoch: 1 });
  expect((await stack.lease({ user_id: 'zoe' })).epoch).toBe(1);
  expect(stack.logged()).not.toContain(direct.password === '' ? 'x'.repeat(99) : `:${direct.password}@`);
});

it('shutdown, the local stack’s, leaves no runner and says so in every lease', async () => {
  await using shared = await deployment();
  await using stack = await startStack({}, shared);
  const lease = await stack.lease();
  await stack.controller.shutdown();
  expect(shared.machine.runners.size).toBe(0);
  const [row] = await stack.database.query<{ status: string; reason: string }>(
    'select status, ended_reason as reason from omicron.browser_sessions where id = $1',
    [lease.session_id],
  );
  expect(row).toEqual({ status: 'ended', reason: 'shutdown' });
  const artifacts = await stack.database.query('select state from omicron.artifacts');
  expect(artifacts).toEqual([{ state: 'stored' }]);
});

it('[P2] reports liveness and readiness, and the use of the deployment to a service token', async () => {
  await using stack = await startStack({ OMICRON_CAPACITY: 7 });
  await stack.lease();
  for (const path of ['/healthz', '/readyz'])
    expect(await stack.call('GET', path, { token: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
  const { body: health } = await stack.call('GET', '/health', { token: null });
  expect(health).toEqual({
    status: 'ok',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    provider: 'local',
    uptime_seconds: expect.any(Number),
  });
  expect((await stack.call('GET', '/fleet', { token: null })).status).toBe(401);
  await eventually('a pool', async () => {
    const { body } = await stack.call('GET', '/fleet');
    expect(body).toEqual({
      active_sessions: 1,
      starting_sessions: 0,
      capacity: 7,
      runners: { creating: 0, warm: 2, claimed: 0, leased: 1, draining: 0 },
    });
    return true;
  });
});

it('[P2] a probe reads no session and no runner', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  await stack.database.script(
    'alter table omicron.browser_sessions rename to sessions_away; alter table omicron.runners rename to runners_away',
  );
  for (const path of ['/readyz', '/health'])
    expect(await stack.call('GET', path, { token: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
  await stack.database.script(
    'alter table omicron.sessions_away rename to browser_sessions; alter table omicron.runners_away rename to runners',
  );
  expect((await stack.call('GET', '/fleet')).status).toBe(200);
});

it('measures active, starting, create latency, failures and reaper deletes, by no user and no session', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  const lease: LeaseAnswer = await stack.lease({ user_id: 'ada-measured', conversation_id: 'talk-measured' });
  const letGo = stack.machine.hold('warm');
  await stack.getOrCreate({ user_id: 'zoe', wait_seconds: 0 });
  const gone = await stack.lease({ user_id: 'bob', wait_seconds: 0 }).catch(() => null);
  expect(gone).toBeNull();
  await protocol(stack.database).age(lease.session_id, 601);
  const metric = async (name: string) => {
    const { body } = await stack.call('GET', '/metrics', { token: null });
    const lines = String(body)
      .split('\n')
      .filter(each => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  await eventually('the expired lease is reaped', async () => (await metric('omicron_reaper_deletes_total')) === 1);
  expect(await metric('omicron_active_sessions')).toBe(0);
  expect(await metric('omicron_starting_sessions')).toBe(2);
  stack.machine.failNext(new OmicronError('runner_start_failed', 'no disk'));
  letGo();
  await eventually('a failed start is counted', async () => (await metric('omicron_pod_create_failures_total')) === 1);
  await eventually('the other one is ready', async () => (await metric('omicron_active_sessions')) === 1);
  const { body, headers } = await stack.call('GET', '/metrics', { token: null });
  expect(headers.get('content-type')).toContain('text/plain');
  const text = String(body);
  expect(text).toMatch(/omicron_session_create_latency_seconds_count\{outcome="ready"\} 1/);
  expect(text).toMatch(/omicron_session_create_latency_seconds_count\{outcome="starting"\} 2/);
  expect(text).toMatch(/^omicron_sessions_ended_total\{reason="expired"\} 1$/m);
  expect(text).toMatch(/^omicron_sessions_ended_total\{reason="runner_lost"\} 0$/m);
  await using replica = await startStack({}, stack);
  expect(String((await replica.call('GET', '/metrics', { token: null })).body)).toContain(
    'omicron_sessions_ended_total{reason="expired"} 1',
  );
  for (const id of ['ada-measured', 'talk-measured', lease.session_id, 'zoe']) expect(text).not.toContain(id);
  for (const line of text.split('\n').filter(each => each && !each.startsWith('#'))) expect(line).toMatch(/^omicron_/);
});
