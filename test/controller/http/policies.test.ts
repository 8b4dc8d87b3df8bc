import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EGRESS_ROUTES } from '../../../contract/egress.ts';
import { AUDIENCES } from '../../../contract/names.ts';
import { egressCredential, serviceKey, signServiceToken } from '../../../contract/tokens.ts';
import { totpCode } from '../../../controller/lease/totp.ts';
import { eventually } from '../../eventually.ts';
import { problemOf, type Stack, someUser, startStack } from '../stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ OMICRON_CONSOLE_URL: 'https://console.test/' });
});
afterAll(() => stack[Symbol.asyncDispose]());

const egressToken = (secret = stack.settings.egressSecret, audience: string = AUDIENCES.egress) =>
  signServiceToken(serviceKey(secret), undefined, audience);
const egress = async (path: string, body: unknown) => stack.call('POST', path, { body, token: await egressToken() });

/** A lease, its runner, and what that runner was given. */
async function leased(user = someUser()) {
  const lease = await stack.lease({ user_id: user });
  const { runner, given } = await stack.machine.leased(lease.session_id);
  const key = { session_id: lease.session_id, epoch: lease.epoch, runner_id: runner.id };
  return { user, lease, runner, given, key };
}
const asRunner = (token: string, method: string, path: string, body?: unknown) =>
  stack.call(method, `/internal/${path}`, { token, ...(body === undefined ? {} : { body }) });
const sessionPath = (id: string) => `/internal/browser-sessions/${id}`;

const policy = (deny: string[]) => ({ version: 1, sites: { deny } });

describe('policies', () => {
  it('are stored by layer and reach the runner, widest first', async () => {
    const { user, lease, given } = await leased();
    expect(given.policy).toEqual({ version: '0', layers: [] });
    await stack.call('PUT', `/internal/users/${user}/policy`, { body: policy(['user.example']) });
    await stack.call('PUT', `${sessionPath(lease.session_id)}/policy`, { body: policy(['session.example']) });
    const activity = (await asRunner(given.lease_token, 'POST', 'runner-activity', { calls: 0 })).body as {
      policy_version: string;
    };
    expect(activity.policy_version).not.toBe(given.policy.version);
    const now = await asRunner(given.lease_token, 'GET', 'runner-policy');
    expect(now.body).toMatchObject({
      version: activity.policy_version,
      layers: [
        { layer: 'user', policy: { sites: { deny: ['user.example'] } } },
        { layer: 'session', policy: { sites: { deny: ['session.example'] } } },
      ],
    });
    expect((await stack.call('GET', `${sessionPath(lease.session_id)}/policy/effective`)).body).toEqual(now.body);
  });

  it('that have a fault are refused with the path to it, and the one before stays in force', async () => {
    const user = someUser();
    const path = `/internal/users/${user}/policy`;
    await stack.call('PUT', path, { body: policy(['first.example']) });
    const refused = await stack.call('PUT', path, {
      body: {
        version: 1,
        tools: [
          { tools: ['browser_navigate'], when: [{ path: 'url', operator: 'regex', value: '(?=x)' }], action: 'allow' },
        ],
        sites: { deny: ['*.com', 'ok.example'] },
      },
    });
    expect(refused.status).toBe(400);
    expect(problemOf(refused)).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'sites.deny[0]' }, { path: 'tools[0].when[0].value' }],
    });
    for (const body of ['text', 7, null, [], { version: 2 }, { version: 1, extra: true }])
      expect((await stack.call('PUT', path, { body })).status).toBe(400);
    expect((await stack.call('GET', path)).body).toMatchObject({ policy: { sites: { deny: ['first.example'] } } });
    expect((await stack.call('DELETE', path)).status).toBe(204);
    expect((await stack.call('DELETE', path)).status).toBe(204);
    expect((await stack.call('GET', path)).body).toEqual({ policy: null });
  });

  it('are closed to a token limited to another user', async () => {
    const { lease } = await leased();
    const user = 'mallory';
    expect((await stack.call('PUT', '/internal/policy', { body: policy([]), user })).status).toBe(403);
    expect((await stack.call('PUT', '/internal/users/ada/policy', { body: policy([]), user })).status).toBe(403);
    expect(
      (await stack.call('PUT', `${sessionPath(lease.session_id)}/policy`, { body: policy([]), user })).status,
    ).toBe(404);
    expect((await stack.call('GET', `${sessionPath(lease.session_id)}/policy/effective`, { user })).status).toBe(404);
  });
});

describe('presets of policies', () => {
  const HTTPS_ONLY = { layer: 'session', policy: { sites: { httpsOnly: true } } };

  it('[P4] hold from the start of the lease that asks for them, beside its session’s own, and go with it', async () => {
    const user = someUser();
    const lease = await stack.lease({ user_id: user, policy_presets: ['https-only'] });
    const { runner, given } = await stack.machine.leased(lease.session_id);
    expect(given.policy).toMatchObject({ version: 'sp', layers: [HTTPS_ONLY] });
    const ask = { runner_id: runner.id, credential: given.egress_credential };
    expect((await egress(EGRESS_ROUTES.authorize, ask)).body).toMatchObject({
      grant: { version: 'sp', layers: [{ layer: 'session', sites: { httpsOnly: true } }] },
    });
    for (const path of [`/internal/users/${user}/policy`, `${sessionPath(lease.session_id)}/policy`])
      await stack.call('PUT', path, { body: policy(['evil.example']) });
    const { body } = await asRunner(given.lease_token, 'GET', 'runner-policy');
    expect(body).toMatchObject({
      layers: [{ layer: 'user' }, { layer: 'session', policy: { sites: { deny: ['evil.example'] } } }, HTTPS_ONLY],
    });
    expect((await asRunner(given.lease_token, 'POST', 'runner-activity', { calls: 0 })).body).toMatchObject({
      policy_version: (body as { version: string }).version,
    });

    await stack.call('DELETE', sessionPath(lease.session_id));
    const next = await stack.lease({ user_id: user, conversation_id: 'next' });
    expect((await stack.machine.leased(next.session_id)).given.policy.layers).toMatchObject([{ layer: 'user' }]);
    const wrong = await stack.call('POST', '/internal/browser-sessions/get-or-create', {
      body: { user_id: user, conversation_id: 'wrong', policy_presets: ['ssfr'] },
    });
    expect(wrong.status).toBe(400);
  });
});

describe('an authorization request of the egress proxy', () => {
  it('is answered for the credential of a living lease only', async () => {
    const { given, key, lease } = await leased();
    const ask = (runner_id: string, credential: string) => egress(EGRESS_ROUTES.authorize, { runner_id, credential });
    expect((await ask(key.runner_id, given.egress_credential)).body).toMatchObject({
      state: 'granted',
      grant: { ...key, version: '0', layers: [] },
    });
    const derivation = Buffer.from(stack.settings.derivationKey, 'base64');
    for (const [runner_id, credential] of [
      [key.runner_id, 'wrong'],
      [key.runner_id, egressCredential(derivation, { ...key, epoch: 2 })],
      [randomUUID(), given.egress_credential],
    ] as const)
      expect((await ask(runner_id, credential)).body).toEqual({ state: 'refused' });
    await stack.call('DELETE', sessionPath(lease.session_id));
    expect((await ask(key.runner_id, given.egress_credential)).body).toEqual({ state: 'refused' });
  });

  it('is answered to the proxy alone: neither the API nor a runner may ask, nor the proxy lease', async () => {
    const { given } = await leased();
    const body = { wait_ms: 0, leases: [] };
    for (const token of [
      await egressToken(stack.settings.serviceSecret),
      await egressToken(undefined, AUDIENCES.controller),
      given.lease_token,
      'nonsense',
    ])
      expect((await stack.call('POST', EGRESS_ROUTES.watch, { body, token })).status).toBe(401);
    const token = await egressToken();
    expect((await stack.call('GET', '/internal/browser-sessions', { token })).status).toBe(401);
  });

  it('learns at once of a policy that changed and of a lease that ended', async () => {
    const { key, lease } = await leased();
    const watch = (version: string) =>
      egress(EGRESS_ROUTES.watch, { wait_ms: 15_000, leases: [{ ...key, version }] }) as Promise<{
        body: { leases: { state: string }[] };
      }>;
    const changed = watch('0');
    await stack.call('PUT', `${sessionPath(lease.session_id)}/policy`, { body: policy(['evil.example']) });
    const [line] = (await changed).body.leases as [{ state: string; grant: { version: string } }];
    expect(line).toMatchObject({
      state: 'changed',
      grant: { ...key, layers: [{ layer: 'session', sites: { deny: ['evil.example'] } }] },
    });
    const ended = watch(line.grant.version);
    await stack.call('DELETE', sessionPath(lease.session_id));
    expect((await ended).body.leases).toEqual([{ state: 'ended', runner_id: key.runner_id, client: 'browser' }]);
  });

  it('answers unchanged leases when the wait is over, and old epochs as ended', async () => {
    const { key } = await leased();
    const { body } = await egress(EGRESS_ROUTES.watch, {
      wait_ms: 0,
      leases: [
        { ...key, version: '0' },
        { ...key, epoch: 9, version: '0' },
      ],
    });
    expect(body).toMatchObject({ leases: [{ state: 'unchanged' }, { state: 'ended' }] });
  });

  it('[N6] writes denials to the timeline of who was denied, once, also after the end', async () => {
    const { key, lease } = await leased();
    const event = {
      ...key,
      id: randomUUID(),
      code: 'internal_address',
      method: 'connect',
      host: 'metadata.example',
      port: 80,
      address_class: 'metadata',
      rule: null,
      layer: null,
      count: 3,
      age_ms: 20,
    };
    await stack.call('DELETE', sessionPath(lease.session_id));
    for (let n = 0; n < 2; n++) expect((await egress(EGRESS_ROUTES.events, { events: [event] })).status).toBe(204);
    await egress(EGRESS_ROUTES.events, { events: [{ ...event, id: randomUUID(), runner_id: randomUUID() }] });
    const more = { ...key, id: randomUUID(), code: 'more_denials', count: 578, age_ms: 10 };
    for (let n = 0; n < 2; n++) expect((await egress(EGRESS_ROUTES.events, { events: [more] })).status).toBe(204);
    const timeline = (await stack.call('GET', `${sessionPath(lease.session_id)}/events`)).body as {
      events: { kind: string; data: object }[];
    };
    const denials = timeline.events.filter(each => each.kind === 'egress.denied');
    expect(denials).toHaveLength(2);
    expect(denials.map(({ data }) => data)).toContainEqual({ code: 'more_denials', count: 578 });
    expect(denials[0]?.data).toEqual({
      code: 'internal_address',
      method: 'connect',
      host: 'metadata.example',
      port: 80,
      address_class: 'metadata',
      count: 3,
    });
  });
});

describe('TOTP', () => {
  // RFC 6238, appendix B: SHA-1, eight digits, seed "12345678901234567890".
  it.each([
    [59_000, '94287082'],
    [1_111_111_109_000, '07081804'],
    [20_000_000_000_000, '65353130'],
  ])('makes the code of the standard at %d ms', (nowMs, code) => {
    const seed = 'otpauth://totp/rfc?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=8&algorithm=SHA1&period=30';
    expect(totpCode(seed, nowMs).code).toBe(code);
  });

  it('codes come from the vault, to a living lease, and the seed stays where it is', async () => {
    const user = someUser();
    const seed = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
    const put = await stack.call('PUT', `/internal/users/${user}/credentials/bank`, {
      body: { username: 'ada', password: 'secret-word', totp: seed },
    });
    expect(put.status).toBe(204);
    const { given, lease } = await leased(user);
    expect(given.sites).toEqual([{ site: 'bank', totp: true }]);
    expect(JSON.stringify(given)).not.toContain(seed);
    const minted = await asRunner(given.lease_token, 'POST', 'runner-totp', { site: 'bank' });
    expect(minted.body).toMatchObject({ code: expect.stringMatching(/^\d{6}$/), valid_ms: expect.any(Number) });
    expect((await asRunner(given.lease_token, 'POST', 'runner-totp', { site: 'other' })).status).toBe(404);
    expect((await asRunner(given.lease_token, 'POST', 'runner-totp', { site: 'constructor' })).status).toBe(404);
    await stack.call('DELETE', sessionPath(lease.session_id));
    expect((await asRunner(given.lease_token, 'POST', 'runner-totp', { site: 'bank' })).status).toBe(409);
    for (const secret of [seed, 'secret-word', String((minted.body as { code: string }).code)])
      expect(stack.logged()).not.toContain(secret);
  });
});

describe('requests to the person', () => {
  const ask = (token: string, id: string, change: object = {}) =>
    asRunner(token, 'POST', 'runner-user-actions', {
      id,
      reason: 'Type the code',
      timeout_seconds: 60,
      wait_ms: 0,
      ...change,
    });

  it('wait for the answer of the API, and the first one counts', async () => {
    const { given, lease, user } = await leased();
    const id = randomUUID();
    const asked = await ask(given.lease_token, id);
    expect(asked.body).toMatchObject({ status: 'pending', url: `https://console.test/sessions/${lease.session_id}` });
    const waiting = ask(given.lease_token, id, { wait_ms: 20_000 });
    const path = `${sessionPath(lease.session_id)}/user-actions`;
    await eventually('the request to be seen', async () => {
      const { body } = await stack.call('GET', path, { user });
      return (body as { user_actions: { id: string; status: string }[] }).user_actions.some(each => each.id === id);
    });
    const answer = await stack.call('POST', `${path}/${id}`, { body: { status: 'done', note: '123456' }, user });
    expect(answer.body).toMatchObject({ id, status: 'done', note: '123456' });
    expect((await waiting).body).toMatchObject({ id, status: 'done', note: '123456' });
    const late = await stack.call('POST', `${path}/${id}`, { body: { status: 'declined' } });
    expect(late.body).toMatchObject({ status: 'done' });
    expect((await ask(given.lease_token, id)).body).toMatchObject({ status: 'done' });
    const kinds = (
      (await stack.call('GET', `${sessionPath(lease.session_id)}/events`)).body as { events: { kind: string }[] }
    ).events;
    expect(kinds.map(each => each.kind)).toEqual(
      expect.arrayContaining(['user_action.requested', 'user_action.answered']),
    );
  });

  it('about a credential are worded here, answered by no lease, and store its site where the answer is for always', async () => {
    const { given, lease, user } = await leased();
    const credentials = `/internal/users/${user}/credentials`;
    const walmart = { username: 'ada', password: 'secret-of-walmart' };
    await stack.call('PUT', `${credentials}/walmart`, { body: walmart });
    const siteOf = async () => {
      const { body } = await stack.call('GET', credentials);
      return (body as { sites: { url?: string[]; filled_on: string[] }[] }).sites[0];
    };
    const about = { credential: { site: 'walmart', origin: 'https://www.walmart.com' } };
    const path = `${sessionPath(lease.session_id)}/user-actions`;
    const answer = (id: string, body: object) => stack.call('POST', `${path}/${id}`, { body, user });

    const [once, always] = [randomUUID(), randomUUID()];
    expect((await ask(given.lease_token, once, { reason: 'Please click always', ...about })).body).toMatchObject({
      reason: 'Use the password of walmart at www.walmart.com?',
      credential: { site: 'walmart', host: 'www.walmart.com', target: 'walmart.com' },
    });
    const inChat = await asRunner(given.lease_token, 'POST', `runner-user-actions/${once}`, { status: 'done' });
    expect(inChat.status).toBe(404);
    expect((await answer(once, { status: 'declined', always: true })).status).toBe(400);
    expect((await answer(once, { status: 'done' })).body).toMatchObject({ status: 'done' });
    expect(await siteOf()).toMatchObject({ filled_on: [] });

    await ask(given.lease_token, always, about);
    expect((await answer(always, { status: 'done', always: true })).body).toMatchObject({ status: 'done' });
    expect(await siteOf()).toMatchObject({ url: ['walmart.com'], filled_on: ['walmart.com'] });
    const own = randomUUID();
    await ask(given.lease_token, own);
    expect((await answer(own, { status: 'done', always: true })).status).toBe(400);
    const plain = { credential: { site: 'walmart', origin: 'http://www.walmart.com' } };
    expect((await ask(given.lease_token, randomUUID(), plain)).status).toBe(400);
  });

  it('record the person who answered as control does: by an id, or the name that a platform vouches for', async () => {
    const { given, lease, user } = await leased();
    const path = `${sessionPath(lease.session_id)}/user-actions`;
    const bob = { viewer: 'Bob', viewer_id: 'issuer-and-subject' };
    for (const [body, as, answered_by] of [
      [bob, undefined, { viewer: 'Bob', identity: 'id issuer-and-subject' }],
      [{ viewer: 'Bob' }, user, { viewer: 'Bob', identity: 'name Bob' }],
      [{}, user, { viewer: user, identity: `name ${user}` }],
      [{}, undefined, null],
    ] as const) {
      const id = randomUUID();
      expect((await ask(given.lease_token, id)).body).toMatchObject({ answered_by: null });
      const asker = as === undefined ? {} : { user: as };
      const answer = await stack.call('POST', `${path}/${id}`, { body: { status: 'done', ...body }, ...asker });
      expect(answer.body).toMatchObject({ status: 'done', answered_by });
      const late = await stack.call('POST', `${path}/${id}`, { body: { status: 'declined', viewer: 'Mallory' } });
      expect(late.body).toMatchObject({ status: 'done', answered_by });
      const { body: list } = await stack.call('GET', path);
      expect((list as { user_actions: { id: string }[] }).user_actions.find(each => each.id === id)).toMatchObject({
        answered_by,
      });
      const { events } = (await stack.call('GET', `${sessionPath(lease.session_id)}/events?limit=200`)).body as {
        events: { kind: string; data: { id?: string } }[];
      };
      const answered = events.filter(({ kind, data }) => kind === 'user_action.answered' && data.id === id);
      expect(answered.map(({ data }) => data)).toEqual([{ id, status: 'done', ...answered_by }]);
    }
  });

  it('record the person in the chat, whom the runner names no other way', async () => {
    const { given } = await leased();
    const id = randomUUID();
    await ask(given.lease_token, id);
    const forged = { status: 'done', viewer: 'root', viewer_id: 'root' };
    const at = `runner-user-actions/${id}`;
    expect((await asRunner(given.lease_token, 'POST', at, forged)).status).toBe(400);
    expect((await asRunner(given.lease_token, 'POST', at, { status: 'done' })).body).toMatchObject({
      answered_by: { viewer: 'the person in the chat', identity: 'id chat' },
    });
  });

  it('expire with their time and with their lease', async () => {
    const { given, lease } = await leased();
    const soon = randomUUID();
    expect((await ask(given.lease_token, soon, { timeout_seconds: 1, wait_ms: 10_000 })).body).toMatchObject({
      status: 'expired',
    });
    const open = randomUUID();
    const waiting = ask(given.lease_token, open, { wait_ms: 20_000 });
    await eventually('it was asked', async () => {
      const { body } = await stack.call('GET', `${sessionPath(lease.session_id)}/user-actions`);
      return (body as { user_actions: { id: string }[] }).user_actions.some(each => each.id === open);
    });
    await stack.call('DELETE', sessionPath(lease.session_id));
    expect((await waiting).body).toMatchObject({ status: 'expired' });
    expect((await ask(given.lease_token, randomUUID())).status).toBe(409);
  });

  it('are listed over all sessions while they wait, for their own user or for every one', async () => {
    const { given, lease, user } = await leased();
    const id = randomUUID();
    await ask(given.lease_token, id);
    const pending = async (as?: string) => {
      const { body } = await stack.call('GET', '/internal/user-actions', as === undefined ? {} : { user: as });
      return (body as { user_actions: { id: string }[] }).user_actions.filter(each => each.id === id);
    };
    expect(await pending()).toEqual([expect.objectContaining({ session_id: lease.session_id, user_id: user })]);
    expect(await pending(user)).toHaveLength(1);
    expect(await pending('mallory')).toEqual([]);
    await stack.call('DELETE', sessionPath(lease.session_id));
    expect(await pending()).toEqual([]);
  });

  it('are found by no other user', async () => {
    const { given, lease } = await leased();
    const other = await leased();
    const id = randomUUID();
    await ask(given.lease_token, id);
    const body = { status: 'done' };
    const path = `${sessionPath(lease.session_id)}/user-actions`;
    expect((await stack.call('POST', `${path}/${id}`, { body, user: 'mallory' })).status).toBe(404);
    expect(
      (await stack.call('POST', `${sessionPath(other.lease.session_id)}/user-actions/${id}`, { body })).status,
    ).toBe(404);
    expect((await stack.call('POST', `${path}/${randomUUID()}`, { body })).status).toBe(404);
    expect((await stack.call('POST', `${path}/${id}`, { body: { status: 'maybe' } })).status).toBe(400);
  });
});
