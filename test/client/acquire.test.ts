import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrowserSessions, type PlaceInLine } from '../../client/browser-sessions.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type SteppedClock, steppedClock } from '../fakes/clock.ts';
import { type Answer, problem } from '../fakes/controller/answer.ts';
import { ready, SESSION_ID, starting } from '../fakes/controller/clients.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';

const quota = (retryAfterSeconds: number) =>
  new OmicronError('user_quota_exceeded', 'The user has 3 of 3 active sessions.', {
    retryAfterSeconds,
    limit: 3,
    active: 3,
  });
const request = { userId: 'ada', conversationId: 'chat-1' };

describe('acquire', () => {
  let controller: FakeController;
  let clock: SteppedClock;
  let sessions: BrowserSessions;
  beforeEach(async () => {
    controller = await startFakeController();
    clock = steppedClock();
    sessions = new BrowserSessions({ ...controller, clock });
  });
  afterEach(() => controller.close());

  const codeOf = async (work: Promise<unknown>): Promise<OmicronError> => {
    const error = await work.then(
      () => undefined,
      reason => reason,
    );
    if (!(error instanceof OmicronError)) throw new Error(`not an OmicronError: ${error}`);
    return error;
  };

  it('signs each call for its user and sends the options', async () => {
    controller.answerNext(problem(quota(1)), ready(4));
    await using lease = await sessions.acquire({
      ...request,
      ttlSeconds: 60,
      recordVideo: false,
      tags: { team: 'search' },
      waitSeconds: 10,
      requireCredentials: true,
    });
    expect(lease).toMatchObject({
      sessionId: SESSION_ID,
      epoch: 4,
      mcpUrl: 'http://127.0.0.1:1/mcp',
      headers: { Authorization: 'Bearer lease-token' },
    });
    expect(lease.expiresAt.toISOString()).toBe('2026-01-01T00:10:00.000Z');
    expect(lease.endsAt.toISOString()).toBe('2026-01-01T08:00:00.000Z');
    expect(controller.seen).toHaveLength(2);
    for (const { userId } of controller.seen) expect(userId).toBe('ada');
    expect(controller.seen[0]?.body).toEqual({
      user_id: 'ada',
      conversation_id: 'chat-1',
      ttl_seconds: 60,
      record_video: false,
      tags: { team: 'search' },
      wait_seconds: 10,
      require_credentials: true,
    });
  });

  it('waits as long as Retry-After says, with a spread that never shortens it', async () => {
    clock = steppedClock(0.5);
    sessions = new BrowserSessions({ ...controller, clock });
    controller.answerNext(
      problem(quota(7)),
      problem(new OmicronError('capacity_exceeded', 'full', { retryAfterSeconds: 3 })),
    );
    controller.answerNext(ready());
    await sessions.acquire(request);
    expect(clock.waitedMs).toEqual([7_350, 3_150]);
  });

  it('throws the 429 at once, with its figures, when Retry-After is past the caller’s deadline', async () => {
    controller.answerNext(problem(quota(61)));
    const error = await codeOf(sessions.acquire({ ...request, waitSeconds: 60 }));
    expect(error).toMatchObject({ code: 'user_quota_exceeded', retryAfterSeconds: 61, extra: { limit: 3, active: 3 } });
    expect(clock.waitedMs).toEqual([]);
    expect(controller.seen).toHaveLength(1);
  });

  it('shows a waiting caller its place, for which the controller holds no call longer than 10 s', async () => {
    const full = (position: number, expected_wait_seconds: number) =>
      problem(new OmicronError('capacity_exceeded', 'full', { retryAfterSeconds: 3, position, expected_wait_seconds }));
    controller.answerNext(full(4, 40), full(2, 9), ready());
    const turns: PlaceInLine[] = [];
    await sessions.acquire({ ...request, waitSeconds: 30, onWaiting: turn => turns.push(turn) });
    expect(turns).toEqual([
      { position: 4, expectedWaitSeconds: 40 },
      { position: 2, expectedWaitSeconds: 9 },
    ]);
    expect(controller.seen.map(({ body }) => body?.wait_seconds)).toEqual([2, 10, 10]);
  });

  it('asks again after a 202, and never for longer than the caller has left', async () => {
    controller.answerNext(starting(1), starting(2), ready());
    await sessions.acquire({ ...request, waitSeconds: 20 });
    expect(clock.waitedMs).toEqual([1_000, 2_000]);
    expect(controller.seen.map(({ body }) => body?.wait_seconds)).toEqual([20, 19, 17]);
  });

  it('fails with lease_starting when the caller does not wait', async () => {
    controller.answerNext(starting(1));
    const error = await codeOf(sessions.acquire({ ...request, waitSeconds: 0 }));
    expect(error).toMatchObject({ code: 'lease_starting', retryAfterSeconds: 1, extra: { session_id: SESSION_ID } });
  });

  it('never asks the controller to wait longer than it may', async () => {
    controller.answerNext(ready());
    await sessions.acquire({ ...request, waitSeconds: 600 });
    expect(controller.seen[0]?.body?.wait_seconds).toBe(60);
  });

  it('backs off, longer each time, from a 503 without Retry-After', async () => {
    const away = problem(new OmicronError('store_unavailable', 'The database is away.'));
    controller.answerNext(away, away, away, ready());
    await sessions.acquire(request);
    expect(clock.waitedMs).toEqual([200, 400, 800]);
  });

  it('takes a gateway’s answer for an outage, and obeys its Retry-After', async () => {
    const gateway: Answer = { status: 502, headers: { 'content-type': 'text/html', 'retry-after': '4' }, body: '<h1>' };
    controller.answerNext(gateway, ready());
    await sessions.acquire(request);
    expect(clock.waitedMs).toEqual([4_000]);
  });

  it.each([
    'sandbox_runtime_required',
    'credentials_not_configured',
    'unauthorized',
    'forbidden',
    'invalid_request',
  ] as const)('does not retry what would be refused again: %s', async code => {
    controller.answerNext(problem(new OmicronError(code, 'Do this instead.', { retryAfterSeconds: 1 })));
    expect(await codeOf(sessions.acquire(request))).toMatchObject({ code, message: 'Do this instead.' });
    expect(controller.seen).toHaveLength(1);
  });

  const asked: string[] = [];
  const ownFetch: typeof fetch = (input, init) => {
    asked.push(`${init?.method} ${input}`);
    return fetch(input, init);
  };

  it.each([
    ['Node’s fetch', undefined],
    ['the caller’s fetch', ownFetch],
  ])('follows no redirect, so that the token reaches no other address, with %s', async (_name, given) => {
    const moved = new BrowserSessions({ ...controller, clock, ...(given === undefined ? {} : { fetch: given }) });
    const elsewhere = { status: 302, headers: { location: `${controller.url}/elsewhere` }, body: '' };
    controller.answerNext(elsewhere);
    await codeOf(moved.get(SESSION_ID));
    expect(controller.seen).toHaveLength(1);
  });

  it('uses the caller’s fetch', async () => {
    asked.length = 0;
    controller.answerNext(problem(quota(1)), ready());
    await new BrowserSessions({ ...controller, clock, fetch: ownFetch }).acquire(request);
    expect(asked).toEqual(Array(2).fill(`POST ${controller.url}/internal/browser-sessions/get-or-create`));
    expect(clock.waitedMs).toEqual([expect.any(Number)]); // Retry-After was read
  });

  it('keeps an unknown code in the message', async () => {
    controller.answerNext({
      status: 409,
      headers: { 'content-type': 'application/problem+json' },
      body: JSON.stringify({ type: 'x', title: 'x', status: 409, code: 'of_the_future', detail: 'Wait.' }),
    });
    const error = await codeOf(sessions.acquire(request));
    expect(error).toMatchObject({ code: 'internal_error', message: 'of_the_future: Wait.' });
  });

  it('says that the URL is not a controller’s when something else answers', async () => {
    controller.answerNext({ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' });
    const error = await codeOf(sessions.acquire(request));
    expect(error.code).toBe('internal_error');
    expect(error.message).toContain('check the URL');
  });

  it('fails with controller_unreachable when nothing listens there, once the caller’s time is up', async () => {
    await controller.close();
    const error = await codeOf(sessions.acquire({ ...request, waitSeconds: 2 }));
    expect(error.code).toBe('controller_unreachable');
    expect(error.message).toContain(controller.url);
    expect(clock.waitedMs).toEqual([200, 400, 800]);
  });

  it('says after three seconds that nothing listens there, unless it was given a time to wait', async () => {
    await controller.close();
    const error = await codeOf(sessions.acquire(request));
    expect(error).toMatchObject({ code: 'controller_unreachable', message: expect.stringContaining(controller.url) });
    expect(clock.waitedMs.reduce((sum, ms) => sum + ms)).toBeLessThanOrEqual(3_000);
    clock.waitedMs.length = 0;
    await codeOf(sessions.acquire({ ...request, waitSeconds: 20 }));
    expect(clock.waitedMs.reduce((sum, ms) => sum + ms)).toBeGreaterThan(10_000);
  });

  it('goes on waiting for a controller that has answered, when it is away meanwhile', async () => {
    controller.answerNext(starting(1));
    const fetches: (typeof fetch)[] = [fetch, ...Array(6).fill(() => fetch('http://127.0.0.1:1')), fetch];
    const moved = new BrowserSessions({
      ...controller,
      clock,
      fetch: (input, init) => (fetches.shift() ?? fetch)(input, init),
    });
    controller.answerNext(ready());
    await moved.acquire(request);
    expect(clock.waitedMs.reduce((sum, ms) => sum + ms)).toBeGreaterThan(3_000);
  });

  it.each([
    ['', 'OMICRON_CONTROLLER_URL'],
    [undefined, 'OMICRON_CONTROLLER_URL'],
    ['localhost:8080', 'write http://localhost:8080'],
    ['127.0.0.1:8080', 'write http://127.0.0.1:8080'],
    ['ftp://127.0.0.1', 'no http or https URL'],
  ])('refuses the address %j at once, and says how to write it', (url, said) => {
    const make = () => new BrowserSessions({ url: url as string, serviceSecret: controller.serviceSecret });
    expect(make).toThrow(expect.objectContaining({ code: 'not_configured', message: expect.stringContaining(said) }));
  });

  it('says at once that the address begins with https where no TLS is spoken', async () => {
    const url = controller.url.replace('http:', 'https:');
    const error = await codeOf(new BrowserSessions({ ...controller, url, clock }).acquire(request));
    expect(error).toMatchObject({ code: 'not_configured', message: expect.stringContaining(controller.url) });
    expect(clock.waitedMs).toEqual([]);
  });

  it('stops waiting when the caller does, with the caller’s reason', async () => {
    const stop = new AbortController();
    controller.answerNext(problem(quota(1)), problem(quota(1)));
    const reason = new Error('the chat was closed');
    const work = sessions.acquire({ ...request, signal: stop.signal });
    stop.abort(reason);
    await expect(work).rejects.toBe(reason);
  });

  it('refuses a service secret that is too short before any call', () => {
    expect(() => new BrowserSessions({ url: controller.url, serviceSecret: 'short' })).toThrow('32 bytes');
  });

  it.each(['short', '', undefined])('names the variable of the service secret that is %j', serviceSecret => {
    const make = () => new BrowserSessions({ url: controller.url, serviceSecret: serviceSecret as string });
    const message = expect.stringContaining('OMICRON_SERVICE_JWT_SECRET');
    expect(make).toThrow(expect.objectContaining({ name: 'OmicronError', code: 'not_configured', message }));
  });
});
