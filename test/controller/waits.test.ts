import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceKey } from '../../contract/tokens.ts';
import { askedUserAction } from '../../contract/user-action.ts';
import { startEgress } from '../../egress/compose.ts';
import { controllerPolicies } from '../../egress/controller.ts';
import { parseEgressSettings } from '../../egress/settings.ts';
import { basic, tunnel } from '../egress/raw-client.ts';
import { PUBLIC_ADDRESS, publicSite } from '../egress/sites.ts';
import { eventually } from '../eventually.ts';
import { type Deployment, deployment, type Stack, someUser, startStack } from './stack.ts';

// How often requests that wait look at the database, on two replicas.

let shared: Deployment;
let stack: Stack;
let other: Stack;
beforeAll(async () => {
  shared = await deployment({
    OMICRON_CAPACITY: 200,
    OMICRON_POOL_IDLE: 60,
    OMICRON_POOL_BURST: 20,
    OMICRON_USER_LIMIT: 100,
  });
  stack = await startStack({}, shared);
  other = await startStack({}, shared);
});
afterAll(async () => {
  await stack.stop();
  await other.stop();
  await shared[Symbol.asyncDispose]();
});

const MAY_ACT = 'may_act(p_session => a.session_id';
const END = 'omicron.end_lease(';
const FIND_ACTION = 'omicron.user_action(';
const SHARED_LOOK = 'closed_user_actions';
const HELD = 'held_leases';

const leases = (count: number) =>
  Promise.all(Array.from({ length: count }, () => stack.lease({ user_id: someUser(), wait_seconds: 60 })));
const end = (id: string, replica = stack) => replica.call('DELETE', `/internal/browser-sessions/${id}`);

/** Looks that all share: at most these since `sinceMs`. */
const sharedLooks = (sinceMs: number, everyMs: number) => (performance.now() - sinceMs) / everyMs + 1;

it('a DELETE makes no look of its own, however many others end at the same time', async () => {
  const ending = await leases(40);
  const [before, beganMs] = [stack.queried(MAY_ACT), performance.now()];
  const answers = await Promise.all(ending.map(({ session_id }) => end(session_id)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(stack.queried(MAY_ACT) - before).toBeLessThanOrEqual(sharedLooks(beganMs, 250));
  expect(stack.queried(END)).toBeGreaterThanOrEqual(40);
});

it('a DELETE whose runner another replica drains is answered once that is known', async () => {
  const [lease] = await leases(1);
  const letGo = shared.machine.hold('drain');
  const first = end(lease?.session_id ?? '', other);
  await eventually('a runner that drains', () => [...shared.machine.runners.values()].some(({ drains }) => drains > 0));
  const [before, ends, beganMs] = [stack.queried(MAY_ACT), stack.queried(END), performance.now()];
  const second = end(lease?.session_id ?? '');
  await eventually('its own end', () => stack.queried(END) > ends);
  await eventually('a look', () => stack.queried(MAY_ACT) > before); // an end that runs after the drain need not wait
  letGo();
  expect((await first).status).toBe(200);
  expect((await second).status).toBe(200);
  const looks = stack.queried(MAY_ACT) - before;
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThanOrEqual(sharedLooks(beganMs, 250));
});

describe('agents that wait for a person', () => {
  const AGENTS = 20;
  const ACTIONS = 25;

  it('are asked about in one statement at a time, woken by an answer alone, and by one at another replica', async () => {
    const waiting = await leases(AGENTS);
    const asked = await Promise.all(
      waiting.map(async ({ session_id }) => {
        const { given } = await shared.machine.leased(session_id);
        const ids = Array.from({ length: ACTIONS }, () => randomUUID());
        const answers = ids.map(id =>
          stack.call('POST', '/internal/runner-user-actions', {
            token: given.lease_token,
            body: { id, reason: 'a code', timeout_seconds: 120, wait_ms: 20_000 },
          }),
        );
        return { session_id, ids, answers };
      }),
    );
    await eventually('all are asked', async () => {
      const [row] = await stack.database.query<{ count: number }>(
        `select count(*)::int as count from omicron.user_actions where status = 'pending'`,
      );
      return row?.count === AGENTS * ACTIONS;
    });
    const looks = stack.queried(SHARED_LOOK);
    await eventually('a shared look', () => stack.queried(SHARED_LOOK) > looks + 1);

    const finds = stack.queried(FIND_ACTION);
    const [from, beganMs] = [stack.queried(SHARED_LOOK), performance.now()];
    for (const { session_id } of await leases(16)) await end(session_id);
    expect(stack.queried(FIND_ACTION) - finds).toBe(0);
    expect(stack.queried(SHARED_LOOK) - from).toBeLessThanOrEqual(sharedLooks(beganMs, 1_000));

    const [one, ...rest] = asked;
    const body = { status: 'done', note: '123456' };
    const path = `/internal/browser-sessions/${one?.session_id}/user-actions/${one?.ids[0]}`;
    expect((await other.call('POST', path, { body })).status).toBe(200);
    const answer = await one?.answers[0];
    expect(askedUserAction.parse(answer?.body)).toMatchObject({ status: 'done', note: '123456' });
    expect(stack.queried(FIND_ACTION) - finds).toBe(1);

    // the ends of their leases close all others
    for (const { session_id } of asked) await end(session_id, other);
    for (const { answers } of rest)
      for (const each of answers) expect((await each).body).toMatchObject({ status: 'expired' });
  });
});

describe('an egress proxy', () => {
  it('closes the tunnels of a lease that ended at another replica by the first look after it, and is read once for all leases', async () => {
    const site = await publicSite();
    const key = serviceKey(stack.settings.egressSecret);
    const settings = parseEgressSettings({
      OMICRON_CONTROLLER_URL: stack.url,
      OMICRON_EGRESS_JWT_SECRET: stack.settings.egressSecret,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: '0',
      OMICRON_EGRESS_ADMIN_HOST: '127.0.0.1',
      OMICRON_EGRESS_ADMIN_PORT: '0',
      OMICRON_EGRESS_ALLOWED_CIDRS: `${PUBLIC_ADDRESS}/32`,
    });
    const egress = await startEgress(settings, controllerPolicies({ url: stack.url, key }), { warn() {}, error() {} });
    await stack.call('PUT', '/internal/policy', { body: { version: 1, sites: { ports: [site.port] } } });
    const held = await Promise.all(
      (await leases(12)).map(async ({ session_id }) => {
        const { runner, given } = await shared.machine.leased(session_id);
        const socket = await tunnel(
          egress.port,
          basic(runner.id, given.egress_credential),
          `${PUBLIC_ADDRESS}:${site.port}`,
        );
        if (!('once' in socket)) throw new Error(`refused: ${JSON.stringify(socket)}`);
        let looks: number | undefined;
        socket.once('close', () => {
          looks = stack.queried(HELD);
        });
        return { session_id, socket, looksAtClose: () => looks };
      }),
    );
    for (const { session_id, looksAtClose } of held.slice(0, 6)) {
      await end(session_id, other);
      const looks = stack.queried(HELD);
      // one may have begun before the end
      expect(await eventually('the tunnel is closed', looksAtClose)).toBeLessThanOrEqual(looks + 2);
    }
    expect(held.slice(6).map(each => each.looksAtClose())).toEqual(Array(6).fill(undefined));
    for (const { socket } of held) socket.destroy(); // the proxy would wait for those that are open
    await egress.stop();
    await site.close();
    await stack.call('DELETE', '/internal/policy');
  });
});
