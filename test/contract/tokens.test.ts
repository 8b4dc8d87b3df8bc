import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AUDIENCES } from '../../contract/names.ts';
import { serviceKey, signControllerToken, signingKey, signServiceToken } from '../../contract/tokens.ts';
import { deployment, problemOf, type Stack, someUser, startStack } from '../controller/stack.ts';

// The callers of each service: every wrong token at every kind of door.

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const nowSeconds = () => Math.floor(Date.now() / 1000);
const unsigned = (header: object, claims: object, signature = '') =>
  [...[header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')), signature].join('.');

const newSigningKey = () =>
  signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));

describe('[O5] a service token', () => {
  const claims = (change: Record<string, unknown> = {}) => {
    const iat = nowSeconds();
    return { aud: AUDIENCES.controller, iat, exp: iat + 60, ...change };
  };
  const sign = (change: Record<string, unknown> = {}, key = stack.serviceKey, alg = 'HS256') =>
    new SignJWT(claims(change)).setProtectedHeader({ alg }).sign(key);

  it('is accepted if it is for this service and valid for 60 seconds', async () => {
    expect((await stack.call('GET', '/internal/browser-sessions', { token: await sign() })).status).toBe(200);
    // clocks may differ by five seconds
    const behind = await sign({ iat: nowSeconds() + 4, exp: nowSeconds() + 60 });
    expect((await stack.call('GET', '/internal/browser-sessions', { token: behind })).status).toBe(200);
  });

  it.each([
    ['without iat', { iat: undefined }],
    ['without iat, from a clock five seconds ahead', { iat: undefined, exp: nowSeconds() + 64 }],
    ['whose times have fractions', { iat: Date.now() / 1000, exp: Date.now() / 1000 + 59.5 }],
    ['with a list of audiences', { iat: undefined, aud: ['omicron-api', AUDIENCES.controller] }],
    [
      'with claims of the platform',
      { iat: undefined, iss: 'omicron-api', sub: 'api', jti: randomUUID(), roles: ['x'] },
    ],
  ])('%s is accepted', async (_what, change) => {
    expect((await stack.call('GET', '/internal/browser-sessions', { token: await sign(change) })).status).toBe(200);
  });

  it('with an exp too far ahead is refused with the limit', async () => {
    const token = await sign({ iat: undefined, exp: nowSeconds() + 600 });
    const answer = await stack.call('GET', '/internal/browser-sessions', { token });
    expect(problemOf(answer).detail).toMatch(/exp must be within 60 s of now/);
  });

  it('from the SDK is valid for 60 seconds even if a second passes while it is signed', async () => {
    let now = Date.now();
    const reading = () => {
      now += 1_000;
      return now;
    };
    vi.stubGlobal(
      'Date',
      class extends Date {
        static override now = reading;
        constructor() {
          super(reading());
        }
      },
    );
    const { iat, exp } = decodeJwt(await signServiceToken(stack.serviceKey).finally(() => vi.unstubAllGlobals()));
    expect(Number(exp) - Number(iat)).toBe(60);
  });

  const wrong: [string, () => string | Promise<string>][] = [
    ['that has expired', () => sign({ iat: nowSeconds() - 66, exp: nowSeconds() - 6 })],
    ['that is not valid yet', () => sign({ nbf: nowSeconds() + 30 })],
    ['from the future', () => sign({ iat: nowSeconds() + 30, exp: nowSeconds() + 60 })],
    ['of 61 seconds', () => sign({ exp: nowSeconds() + 61 })],
    ['of a year', () => sign({ exp: nowSeconds() + 31_536_000 })],
    ['for another service', () => sign({ aud: 'omicron-api' })],
    ['for runners’ secrets', () => sign({ aud: AUDIENCES.broker })],
    ['without audience', () => sign({ aud: undefined })],
    ['of 66 seconds without iat', () => sign({ iat: undefined, exp: nowSeconds() + 67 })],
    ['of a year without iat', () => sign({ iat: undefined, exp: nowSeconds() + 31_536_000 })],
    ['that has expired, without iat', () => sign({ iat: undefined, exp: nowSeconds() - 6 })],
    ['whose iat is text', () => unsigned({ alg: 'HS256' }, claims({ iat: 'now' }))],
    ['without exp', () => sign({ exp: undefined })],
    ['whose exp is text', () => unsigned({ alg: 'HS256' }, claims({ exp: 'tomorrow' }))],
    ['whose user is a number', () => sign({ user_id: 7 })],
    ['of another key', () => sign({}, serviceKey('x'.repeat(32)))],
    ['signed with HS512', () => sign({}, stack.serviceKey, 'HS512')],
    ['signed with HS384', () => sign({}, stack.serviceKey, 'HS384')],
    ['with alg none', () => unsigned({ alg: 'none' }, claims())],
    ['with alg None and a signature', () => unsigned({ alg: 'None' }, claims(), 'AAAA')],
    ['with alg HS256 and no signature', () => unsigned({ alg: 'HS256' }, claims())],
    ['with a signature cut short', async () => (await sign()).slice(0, -8)],
    ['with other claims than were signed', async () => swapClaims(await sign({ user_id: 'ada' }), claims())],
    ['with an unknown critical header', () => unsigned({ alg: 'HS256', crit: ['x'], x: 1 }, claims(), 'AAAA')],
    ['signed by the controller with EdDSA', async () => controllerSigned(AUDIENCES.controller)],
    [
      'signed with the public key of the controller as secret',
      async () => {
        const { publicJwk } = signingKey(stack.settings.signingKey);
        return sign({}, Buffer.from(publicJwk.x ?? '', 'base64url'));
      },
    ],
    ['that is not a token', () => 'nonsense'],
    ['that is empty', () => ''],
    ['of 8 KiB of dots', () => '.'.repeat(8_000)],
  ];
  const swapClaims = (token: string, other: object) => {
    const [header, , signature] = token.split('.');
    return [header, Buffer.from(JSON.stringify(other)).toString('base64url'), signature].join('.');
  };
  const controllerSigned = async (audience: string) =>
    signControllerToken(signingKey(stack.settings.signingKey), audience, {}, { nowMs: Date.now(), seconds: 60 });

  it.each(wrong)('%s is refused', async (what, make) => {
    const token = await make();
    const answer = await stack.call('GET', '/internal/browser-sessions', { token });
    expect(answer.status).toBe(401);
    expect(problemOf(answer)).toMatchObject({ code: 'unauthorized' });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    if (what === 'of another key') expect(problemOf(answer).detail).toContain('OMICRON_SERVICE_JWT_SECRET');
    if (token.length > 20) expect(JSON.stringify(answer.body)).not.toContain(token.slice(-20));
  });

  it.each([
    ['no header', undefined],
    ['another scheme', 'Basic YWRhOmFkYQ=='],
    ['two tokens', 'Bearer a b'],
    ['no token', 'Bearer '],
  ])('is asked for when there is %s', async (_what, header) => {
    const answer = await stack.call('GET', '/internal/browser-sessions', {
      token: null,
      ...(header === undefined ? {} : { headers: { authorization: header } }),
    });
    expect(problemOf(answer)).toMatchObject({
      code: 'unauthorized',
      detail: expect.stringContaining('Authorization: Bearer'),
    });
  });

  it('is checked before the body', async () => {
    const answer = await stack.call('POST', '/internal/browser-sessions/get-or-create', { raw: '{broken', token: 'x' });
    expect(answer.status).toBe(401);
  });
});

describe('a token limited to one user', () => {
  it('works for that user and finds no session of another', async () => {
    const [ada, eve] = [someUser(), someUser()];
    const get = (user: string) =>
      stack.call('POST', '/internal/browser-sessions/get-or-create', {
        body: { user_id: ada, conversation_id: 'c' },
        user,
      });
    expect(problemOf(await get(eve))).toMatchObject({ status: 403, code: 'forbidden' });
    const { status, body } = await get(ada);
    expect(status).toBe(200);
    const { session_id } = body as { session_id: string }; // Lease
    const foreign = await stack.call('DELETE', `/internal/browser-sessions/${session_id}`, { user: eve });
    const unknown = await stack.call('DELETE', `/internal/browser-sessions/${randomUUID()}`, { user: eve });
    expect(foreign.body).toEqual(unknown.body);
    expect((await stack.call('GET', `/internal/browser-sessions/${session_id}`, { user: ada })).body).toMatchObject({
      status: 'ready',
    });
    await stack.call('DELETE', `/internal/browser-sessions/${session_id}`, { user: ada });
  });
});

describe('a runner’s token', () => {
  const ROUTES = ['runner-secrets', 'runner-activity', 'runner-events', 'runner-artifacts'] as const;
  const BODY: Record<(typeof ROUTES)[number], unknown> = {
    'runner-secrets': {},
    'runner-activity': { calls: 0 },
    'runner-events': { events: [{ id: randomUUID(), kind: 'tool.call', age_ms: 0, data: {} }] },
    'runner-artifacts': { state: 'lost', name: 'x', reason: 'r' },
  };
  const send = (route: (typeof ROUTES)[number], token: string | null) =>
    stack.call('POST', `/internal/${route}`, { body: BODY[route], token });
  const leased = async () => {
    const lease = await stack.lease({ user_id: someUser() });
    const { runner, given } = await stack.machine.leased(lease.session_id);
    return { lease, runner, ...given, assignment_token: runner.assignmentToken ?? '' };
  };

  it('is accepted by its own endpoints and no other', async () => {
    const { lease_token, artifact_token, assignment_token, lease } = await leased();
    const opens = async (token: string) => {
      const statuses = await Promise.all(ROUTES.map(async route => (await send(route, token)).status));
      return ROUTES.filter((_, index) => statuses[index] !== 401);
    };
    expect(await opens(lease_token)).toEqual(['runner-activity', 'runner-events']);
    expect(await opens(artifact_token)).toEqual(['runner-events', 'runner-artifacts']);
    expect(await opens(assignment_token)).toEqual(['runner-secrets']);
    const mcp = lease.mcp_headers?.Authorization?.slice('Bearer '.length) ?? '';
    expect(await opens(mcp)).toEqual([]);
    expect(await opens(await signServiceToken(stack.serviceKey))).toEqual([]);
    for (const token of [lease_token, artifact_token, assignment_token, mcp])
      for (const path of ['/internal/browser-sessions', '/internal/users/ada/credentials'])
        expect((await stack.call('GET', path, { token })).status).toBe(401);
    await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}`);
  });

  it('with another key, issuer or shape is refused by every endpoint', async () => {
    const { runner } = await leased();
    const { assignment } = runner;
    const claims = {
      session_id: assignment?.session_id,
      epoch: 1,
      runner_id: runner.id,
      claim_id: assignment?.claim_id,
      boot_id: runner.bootId,
    };
    const own = signingKey(stack.settings.signingKey);
    const times = { nowMs: Date.now(), seconds: 60 };
    const audiences = [AUDIENCES.broker, AUDIENCES.lease, AUDIENCES.lease, AUDIENCES.artifacts];
    for (const [index, route] of ROUTES.entries()) {
      const audience = audiences[index] ?? '';
      const stranger = { ...newSigningKey(), kid: own.kid };
      const bad = [
        signControllerToken(stranger, audience, claims, times),
        signControllerToken(own, audience, { ...claims, epoch: 0 }, times),
        signControllerToken(own, audience, { ...claims, session_id: 'x' }, times),
        signControllerToken(own, audience, { ...claims, runner_id: undefined }, times),
        await new SignJWT(claims)
          .setProtectedHeader({ alg: 'EdDSA', kid: own.kid })
          .setIssuer('eve')
          .setAudience(audience)
          .setIssuedAt()
          .setExpirationTime('60s')
          .sign(own.privateKey),
        await new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: own.kid })
          .setIssuer('browser-session-controller')
          .setAudience(audience)
          .setIssuedAt()
          .setExpirationTime('60s')
          .sign(Buffer.from(own.publicJwk.x ?? '')),
        unsigned(
          { alg: 'none' },
          { ...claims, iss: 'browser-session-controller', aud: audience, iat: nowSeconds(), exp: nowSeconds() + 60 },
        ),
        '',
      ];
      for (const token of bad) expect((await send(route, token)).status, `${route} ${token}`).toBe(401);
      expect((await send(route, null)).status).toBe(401);
    }
  });

  it('ends with its lease: no activity of an old epoch, no event of a runner that never held it', async () => {
    const { lease, runner, lease_token } = await leased();
    expect((await send('runner-activity', lease_token)).body).toMatchObject({ remaining_ms: expect.any(Number) });
    await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}?epoch=1`);
    expect(problemOf(await send('runner-activity', lease_token)).code).toBe('lease_ended');
    const own = signingKey(stack.settings.signingKey);
    const forged = signControllerToken(
      own,
      AUDIENCES.lease,
      { session_id: lease.session_id, epoch: 2, runner_id: runner.id },
      { nowMs: Date.now(), seconds: 60 },
    );
    for (const route of ['runner-activity', 'runner-events'] as const)
      expect(problemOf(await send(route, forged)).code).toBe('lease_ended');
  });

  it('for artifacts is refused once it has expired, a day after the lease', async () => {
    const { lease, runner } = await leased();
    const own = signingKey(stack.settings.signingKey);
    const old = signControllerToken(
      own,
      AUDIENCES.artifacts,
      { session_id: lease.session_id, epoch: 1, runner_id: runner.id },
      { nowMs: Date.now() - 61_000, seconds: 60 },
    );
    expect(problemOf(await send('runner-artifacts', old)).code).toBe('lease_ended');
  });
});

it('no token, key or secret reached the log', async () => {
  const logged = stack.logged();
  expect(logged).not.toMatch(/eyJ[\w-]{8,}/);
  for (const name of ['serviceSecret', 'derivationKey'] as const) expect(logged).not.toContain(stack.settings[name]);
});

it('two deployments with different keys do not accept each other’s tokens', async () => {
  await using shared = await deployment();
  await using other = await startStack({}, shared);
  const token = await signServiceToken(stack.serviceKey);
  expect((await other.call('GET', '/internal/browser-sessions', { token })).status).toBe(401);
});
