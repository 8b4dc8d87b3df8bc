import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ENV } from '../../contract/names.ts';
import type { Problem } from '../../contract/problem.ts';
import { type LeaseAnswer, LIMITS, type Session } from '../../contract/session.ts';
import { eventually } from '../eventually.ts';
import { runnerPid } from '../local/machine.ts';
import { type Site, startSite } from '../site/site.ts';
import {
  type AtEnd,
  alive,
  type ControllerProcess,
  connect,
  type Deployment,
  deployment,
  events,
  lease,
  recordings,
  SESSIONS,
  show,
  startDeployment,
  use,
} from './controllers.ts';

const run = promisify(execFile);

// The six acceptance scenarios of the seed, on real controllers, Postgres and Chromium. Two controllers serve all tests except one
// that needs other settings; each test has users of its own.
// whole controllers and browsers: minutes on a busy machine
describe('acceptance', { timeout: 180_000 }, () => {
  let site: Site;
  let d: Deployment;
  let c1: ControllerProcess;
  let c2: ControllerProcess;
  beforeAll(async () => {
    site = await startSite();
    d = await startDeployment();
    // Local controllers at two addresses have two templates: with a pool, each would replace the other's warm runners without end.
    const settings = { OMICRON_POOL_IDLE: '0', [ENV.insecureLoginOrigins]: site.url };
    [c1, c2] = await Promise.all([d.controller(settings), d.controller(settings)]);
  });
  afterAll(async () => {
    await d.dispose();
    await site.close();
  });

  /** A lease that ends with its test. */
  const leaseUntilEnd = async (
    at: ControllerProcess,
    request: Record<string, unknown>,
    atEnd: AtEnd = onTestFinished,
  ) => {
    const leased = await lease(d, at, request);
    atEnd(async () => {
      await d.call(at, 'DELETE', `${SESSIONS}/${leased.session_id}`);
    });
    return leased;
  };

  it('[O1] two ids are enough: starting, then a browser that is recorded and lives 600 s after its last use', async () => {
    const ids = { user_id: 'olga', conversation_id: 'c' };
    const ask = (more: object) => d.call<LeaseAnswer>(c1, 'POST', `${SESSIONS}/get-or-create`, { ...ids, ...more });
    const starting = await ask({ wait_seconds: 0 });
    expect(starting.status).toBe(202);
    expect(starting.body).toMatchObject({ status: 'starting', mcp_url: null });
    const ready = await leaseUntilEnd(c1, ids);
    expect(ready).toMatchObject({ session_id: starting.body.session_id, status: 'ready' });
    expect(await use(await connect(ready), 'browser_navigate', { url: site.url })).toContain('Welcome.');
    expect(await show(d, c1, ready.session_id)).toMatchObject({ ...ids, ttl_seconds: 600, record_video: true });
    const startMs = Date.now();
    const expiresMs = Date.parse((await lease(d, c1, ids)).expires_at);
    // a use within a second of the one before moves nothing
    expect(expiresMs).toBeGreaterThan(startMs + 599_000);
    expect(expiresMs).toBeLessThanOrEqual(Date.now() + 600_000);
    const told = await leaseUntilEnd(c1, { ...ids, conversation_id: 'told', ttl_seconds: 60, record_video: false });
    expect(await show(d, c1, told.session_id)).toMatchObject({ ttl_seconds: 60, record_video: false });
  });

  it('[O22] isolation: two users at once have different runners and share no cookies', async () => {
    for (const user of ['ada', 'bob'])
      await d.call(c1, 'PUT', `/internal/users/${user}/credentials/shop`, {
        username: `${user}-name`,
        password: `${user}-pass`,
      });
    const [ada, bob] = await Promise.all(
      ['ada', 'bob'].map(user => leaseUntilEnd(c1, { user_id: user, conversation_id: 'same', record_video: false })),
    );
    if (!ada || !bob) throw new Error('no leases');
    expect(ada.session_id).not.toBe(bob.session_id);
    expect(ada.mcp_url).not.toBe(bob.mcp_url);
    const [a, b] = await Promise.all([connect(ada), connect(bob)]);

    await use(a, 'browser_navigate', { url: `${site.url}/login` });
    const snapshot = await use(a, 'browser_snapshot');
    const ref = (label: string) => new RegExp(`${label}[^\\n]*\\[ref=(\\w+)\\]`).exec(snapshot)?.[1];
    await use(a, 'browser_type', {
      element: 'user name',
      target: ref('textbox "User name"'),
      ref: ref('textbox "User name"'),
      text: 'SHOP_USERNAME',
    });
    await use(a, 'browser_type', {
      element: 'password',
      target: ref('textbox "Password"'),
      ref: ref('textbox "Password"'),
      text: 'SHOP_PASSWORD',
      submit: true,
    });
    await use(a, 'browser_navigate', { url: `${site.url}/account` });
    expect(site.logins.at(-1)).toEqual({ username: 'ada-name', password: 'ada-pass' });
    expect(await use(a, 'browser_snapshot')).toContain('Hello');

    await use(b, 'browser_navigate', { url: `${site.url}/account` });
    const seenByBob = await use(b, 'browser_snapshot');
    expect(seenByBob).not.toContain('ada');
    expect(seenByBob).toContain('You are not logged in');

    // neither token opens the other's browser
    const crossed = await fetch(bob.mcp_url, {
      method: 'POST',
      headers: {
        ...ada.mcp_headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{}',
    });
    expect(crossed.status).toBe(401);
    expect(d.log()).not.toContain('ada-pass');
  });

  it('[O22] create race: 100 calls at once on two controllers get one lease of one runner', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        d.call<LeaseAnswer>(n % 2 ? c1 : c2, 'POST', `${SESSIONS}/get-or-create`, {
          user_id: 'rosa',
          wait_seconds: LIMITS.waitSecondsMax,
          conversation_id: 'race',
          record_video: false,
        }),
      ),
    );
    onTestFinished(async () => {
      await d.call(c1, 'DELETE', `${SESSIONS}/${answers[0]?.body.session_id}`);
    });
    expect(answers.map(a => a.status)).toEqual(Array(100).fill(200));
    expect(new Set(answers.map(a => `${a.body.session_id}/${a.body.epoch}/${a.body.mcp_url}`)).size).toBe(1);
    const claims = (await events(d, c1, answers[0]?.body.session_id ?? '')).filter(e => e.kind === 'session.claimed');
    expect(claims).toHaveLength(1);
  });

  it('[N8] a DELETE that was answered leaves no call that is, of four clients that never stop asking', async () => {
    const leased = await lease(d, c1, { user_id: 'dora', conversation_id: 'c', record_video: false });
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect(leased)));
    let isOver = false;
    const served: string[] = [];
    const asking = clients.map(async client => {
      for (let calls = 0; ; calls += 1) {
        const beganOver = isOver;
        const text = await use(client, 'browser_tabs', { action: 'list' }).catch(() => undefined);
        if (text === undefined) return calls;
        if (beganOver) served.push(text);
      }
    });
    await use(clients[0] as Client, 'browser_navigate', { url: site.url }); // there are four
    expect((await d.call<Session>(c1, 'DELETE', `${SESSIONS}/${leased.session_id}`)).body.status).toBe('ended');
    isOver = true;
    const calls = await Promise.all(asking);
    expect(Math.min(...calls)).toBeGreaterThan(0);
    expect(served).toEqual([]);
  });

  // Side by side: most of each is a wait for an expiry or a recording.
  it.concurrent('[O22] TTL expiry: an idle lease ends, its runner goes, the next request starts a new epoch', async ({
    onTestFinished: atEnd,
  }) => {
    const ids = { user_id: 'tara', conversation_id: 'c' };
    const first = await lease(d, c1, { ...ids, ttl_seconds: 5, record_video: false });
    const runnerId = (await show(d, c1, first.session_id)).runner_id ?? '';
    const pid = await runnerPid(d.dataDir, runnerId);
    await eventually(
      'the lease to expire',
      async () => (await show(d, c1, first.session_id)).status === 'ended',
      20_000,
    );
    expect(await show(d, c1, first.session_id)).toMatchObject({ ended_reason: 'expired', mcp_url: null });
    await eventually(
      'the runner to be gone',
      async () => !alive(pid) && !existsSync(join(d.dataDir, 'runners', runnerId)),
    );
    const next = await leaseUntilEnd(c1, { ...ids, record_video: false }, atEnd);
    expect(next).toMatchObject({ session_id: first.session_id, epoch: 2 });
    expect(next.mcp_headers).not.toEqual(first.mcp_headers);
  });

  it.concurrent('[O22] reuse: the same conversation gets the same runner, tabs and cookies from either controller', async ({
    onTestFinished: atEnd,
  }) => {
    const ids = { user_id: 'rita', conversation_id: 'c' };
    const first = await leaseUntilEnd(c1, { ...ids, record_video: false }, atEnd);
    const before = await connect(first, atEnd);
    await use(before, 'browser_navigate', { url: `${site.url}/login` });
    await before.close();
    const again = await lease(d, c2, { ...ids, record_video: false });
    expect(again).toMatchObject({
      session_id: first.session_id,
      epoch: first.epoch,
      mcp_url: first.mcp_url,
      mcp_headers: first.mcp_headers,
    });
    expect(await use(await connect(again, atEnd), 'browser_snapshot')).toContain('/login');
    expect((await show(d, c1, first.session_id)).status).toBe('ready');
  });

  it.concurrent('[O22] artifacts: the video lies under the session prefix, private, and plays', async ({
    onTestFinished: atEnd,
  }) => {
    const leased = await lease(d, c1, { user_id: 'vera', conversation_id: 'c' });
    const client = await connect(leased, atEnd);
    await use(client, 'browser_navigate', { url: `${site.url}/animated` });
    await use(client, 'browser_wait_for', { time: 2 });
    await client.close();
    expect((await d.call<Session>(c1, 'DELETE', `${SESSIONS}/${leased.session_id}?epoch=1`)).body.status).toBe('ended');
    const [video] = await recordings(d, c1, leased.session_id);
    const session = await show(d, c1, leased.session_id);
    expect(video).toMatchObject({ state: 'stored', epoch: 1, runner_id: session.runner_id });
    expect(session.artifacts_prefix).toBe(`pw-videos/prod/${session.session_id}/1-${session.runner_id}/`);
    expect(video?.uri).toContain(session.artifacts_prefix);
    const path = fileURLToPath(video?.uri ?? '');
    const { stdout } = await run('ffprobe', [
      ...['-v', 'error', '-show_entries', 'stream=codec_name,width,height:packet=pts_time', '-of', 'json', path],
    ]);
    const probed = JSON.parse(stdout);
    expect(probed.streams[0]).toMatchObject({ codec_name: 'vp8', width: 1920, height: 1080 });
    expect(Number(probed.packets.at(-1).pts_time)).toBeGreaterThan(1.5); // seconds
    expect((await stat(d.dataDir)).mode & 0o077).toBe(0); // no other user of this machine reads it
    expect(await readdir(join(d.dataDir, 'runners'))).not.toContain(session.runner_id);
  });

  it.concurrent('[O22] failure: a runner that cannot start makes the session an error that says what to do', async ({
    onTestFinished: atEnd,
  }) => {
    const d = await deployment(atEnd);
    const c = await d.controller({ OMICRON_CHROMIUM: '/bin/false', OMICRON_POOL_IDLE: '0' });
    const answer = await d.call<Problem>(c, 'POST', `${SESSIONS}/get-or-create`, {
      user_id: 'ada',
      conversation_id: 'c',
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(['runner_start_failed', 'sandbox_runtime_required']).toContain(answer.body.code);
    expect(answer.body.detail.length).toBeGreaterThan(20);
    const session = await show(d, c, answer.body.session_id ?? '');
    expect(session).toMatchObject({ status: 'error', epoch: 1 });
    expect(session.error).toBe(answer.body.detail);
    // a new request may take over, and nothing of the failed runner stays
    const second = await d.call<Problem>(c, 'POST', `${SESSIONS}/get-or-create`, {
      user_id: 'ada',
      conversation_id: 'c',
    });
    expect(second.status).toBe(503);
    expect((await show(d, c, session.session_id)).epoch).toBe(2);
    await eventually(
      'the failed runners to be gone',
      async () => (await readdir(join(d.dataDir, 'runners'))).length === 0,
    );
  });
});
