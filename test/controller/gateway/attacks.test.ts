import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_LINKS_HEADER } from '../../../contract/names.ts';
import { eventually } from '../../eventually.ts';
import { type Stack, someUser, startStack } from '../stack.ts';
import { asIngress } from './as-ingress.ts';
import { GATEWAY, type Gateway, HOLD, HOST, startGateway } from './gateway.ts';

let gateway: Gateway;
let stack: Stack;
beforeAll(async () => {
  gateway = await startGateway();
  stack = await gateway.replica();
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

const callOf = (args: Record<string, unknown>, id: number | string = 1, name = 'browser_snapshot') => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

interface Post {
  readonly headers?: Record<string, string>;
  readonly host?: string;
  readonly at?: { url: string };
}

/** One request to the gateway, as a program of its own making sends it. */
const post = (token: string | undefined, body: unknown, { headers, host = HOST, at = stack }: Post = {}) =>
  asIngress(host)(`${at.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const leasesOf = async (user: string): Promise<number> => {
  const { body } = await stack.call('GET', `/internal/browser-sessions?user_id=${user}`);
  return (body as { sessions: unknown[] }).sessions.length; // SessionPage
};

const METADATA = 'https://browsers.example/.well-known/oauth-protected-resource/mcp';

it('is not there unless a deployment sets its address', async () => {
  await using plain = await startStack();
  expect((await plain.call('POST', '/mcp', { body: {} })).status).toBe(404);
  expect((await plain.call('GET', '/.well-known/oauth-protected-resource/mcp')).status).toBe(404);
});

it('[M7] shows a client without a token where to get one (RFC 9728)', async () => {
  const answer = await post(undefined, callOf({}));
  expect(answer.status).toBe(401);
  expect(answer.headers.get('www-authenticate')).toContain(`resource_metadata="${METADATA}"`);
  const metadata = await asIngress(HOST)(`${stack.url}${new URL(METADATA).pathname}`);
  expect(await metadata.json()).toMatchObject({
    resource: GATEWAY,
    authorization_servers: [gateway.issuer.url],
    scopes_supported: ['browser'],
  });
});

describe('an access token', () => {
  const hourAgo = () => Math.floor(Date.now() / 1000) - 3_600;
  const stranger = generateKeyPair('ES256', { extractable: true });
  const claims = (user: string) => ({ iss: gateway.issuer.url, aud: GATEWAY, sub: user, scope: 'browser' });
  const TOKENS: Record<string, (user: string) => Promise<string> | string> = {
    'for another service': user => gateway.issuer.token(user, { aud: 'https://other.example/mcp' }),
    'for no service': user => gateway.issuer.token(user, { aud: undefined }),
    'of another issuer': user => gateway.issuer.token(user, { iss: 'https://other.example' }),
    'that has expired': user => gateway.issuer.token(user, { exp: hourAgo() }),
    'without an end': user => gateway.issuer.token(user, { exp: undefined }),
    'that is not valid yet': user => gateway.issuer.token(user, { nbf: hourAgo() + 7_200 }),
    'without a user': user => gateway.issuer.token(user, { sub: undefined }),
    'whose user is no text': user => gateway.issuer.token(user, { sub: [user] as never }),
    'without a signature': user => new UnsecuredJWT(claims(user)).setExpirationTime('5m').encode(),
    'signed with the public key as a shared secret': async user =>
      new SignJWT(claims(user))
        .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
        .setExpirationTime('5m')
        .sign(new TextEncoder().encode(await exportSPKI(gateway.issuer.publicKey))),
    'signed by another key under the same name': async user =>
      new SignJWT(claims(user))
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .setExpirationTime('5m')
        .sign((await stranger).privateKey),
    'that brings its own key': async user =>
      new SignJWT(claims(user))
        .setProtectedHeader({ alg: 'ES256', jwk: await exportJWK((await stranger).publicKey) })
        .setExpirationTime('5m')
        .sign((await stranger).privateKey),
    'that is no token': () => 'not-a-token',
  };

  it.each(Object.keys(TOKENS))('%s is refused, and leases nothing', async name => {
    const user = someUser();
    const token = (await TOKENS[name]?.(user)) ?? '';
    const answer = await post(token, callOf({}));
    expect(answer.status).toBe(401);
    // RFC 6750, section 3: a description holds neither quotes nor backslashes
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token", error_description="[^"\\]+", scope="browser", resource_metadata="[^"]+"$/,
    );
    expect(await answer.text()).not.toContain(token);
    expect(await leasesOf(user)).toBe(0);
    expect(stack.logged()).not.toContain(token);
  });

  it('without the scope is refused as such', async () => {
    for (const scope of ['openid', 'browsers', '']) {
      const answer = await post(await gateway.issuer.token(someUser(), { scope }), callOf({}));
      expect(answer.status).toBe(403);
      expect(answer.headers.get('www-authenticate')).toMatch(/error="insufficient_scope".*scope="browser"/);
    }
    const scp = await gateway.issuer.token(someUser(), { scope: undefined, scp: ['browser'] });
    expect((await post(scp, callOf({}))).status).toBe(200);
  });

  it('names its user by another claim where the deployment says so', async () => {
    const other = await gateway.replica({ OMICRON_GATEWAY_USER_CLAIM: 'oid' });
    const [sub, oid] = [someUser(), someUser()];
    expect((await post(await gateway.issuer.token(sub, { oid }), callOf({}), { at: other })).status).toBe(200);
    expect([await leasesOf(sub), await leasesOf(oid)]).toEqual([0, 1]);
  });

  it('cannot be judged while the issuer is away, which is no fault of its client, and is asked after once', async () => {
    await using fresh = await startGateway();
    fresh.issuer.fail();
    const at = await fresh.replica();
    const token = await fresh.issuer.token(someUser());
    for (let n = 0; n < 5; n++) expect((await post(token, callOf({}), { at })).status).toBe(503);
    expect(fresh.issuer.requests()).toBe(1);
    expect(at.logged()).not.toContain(token);
  });
});

it('refuses what names one conversation in the header and another in the body', async () => {
  const user = someUser();
  const token = await gateway.issuer.token(user);
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'browser_snapshot' };
  for (const [args, header] of [
    [{ sessionId: 'a' }, { 'mcp-param-session': 'b' }],
    [{}, { 'mcp-param-session': 'b' }],
    [{ sessionId: 'a' }, {}],
    [{ sessionId: 'a' }, { 'mcp-param-session': '=?base64?Yg==?=' }],
    [{ sessionId: 'a' }, { 'mcp-param-session': '=?base64?YQ?=' }],
  ] as const) {
    const answer = await post(token, callOf(args), { headers: { ...modern, ...header } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ id: 1, error: { code: -32020 } });
  }
  expect(await leasesOf(user)).toBe(0);
});

it('answers a call with wrong parameters as a runner does, and each call of a batch; none leases', async () => {
  const user = someUser();
  const token = await gateway.issuer.token(user);
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'browser_snapshot' };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = 'browser_snapshot';
  for (const params of [undefined, {}, { name: 5 }, { name, arguments: null }, { name, arguments: [] }]) {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    expect(await (await post(token, call)).text()).toContain('"code":-32602');
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: null, _meta } };
  expect(await (await post(token, call, { headers: modern })).json()).toMatchObject({ error: { code: -32602 } });
  const batch = await (await post(token, [callOf({}, 1), callOf({}, 2)])).text();
  expect(batch.match(/"code":-32600,"message":"Send each call of a tool as a request of its own/g)).toHaveLength(2);
  expect(await leasesOf(user)).toBe(0);
});

it('refuses a call with a wrong header, and one of an unknown tool, before it leases', async () => {
  const user = someUser();
  const token = await gateway.issuer.token(user);
  const name = 'browser_snapshot';
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta } };
  for (const header of [
    { 'mcp-name': 'browser_click' },
    { 'mcp-method': 'tools/list' },
    { 'mcp-protocol-version': '2099-01-01' },
  ] as Record<string, string>[]) {
    const answer = await post(token, call, { headers: { ...modern, ...header } });
    expect([header, answer.status]).toEqual([
      header,
      expect.toSatisfy((status: number) => status >= 400 && status < 500),
    ]);
  }
  expect((await post(token, callOf({}), { headers: { accept: 'text/plain' } })).status).toBe(406);
  for (const unknown of ['browser_nothing', 'constructor', 'browser_run_code_unsafe', ''])
    expect(await (await post(token, callOf({}, 1, unknown))).text()).toContain('unknown_tool');
  expect(await leasesOf(user)).toBe(0);
  expect(await (await post(token, call, { headers: modern })).text()).toContain(`ran ${name}`);
});

it('serves no HEAD', async () => {
  const answer = await asIngress(HOST)(`${stack.url}/mcp`, { method: 'HEAD' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'DELETE, GET, POST']);
});

it('refuses another Host, another Origin, a body that is too large, and several calls in one request', async () => {
  const user = someUser();
  const token = await gateway.issuer.token(user);
  expect((await post(token, callOf({}), { host: 'rebound.example' })).status).toBe(403);
  expect((await post(token, callOf({}), { host: '127.0.0.1' })).status).toBe(403);
  for (const origin of ['https://evil.example', 'null', 'http://browsers.example'])
    expect((await post(token, callOf({}), { headers: { origin } })).status).toBe(403);
  expect((await post(token, callOf({ text: 'x'.repeat(5_000_000) }))).status).toBe(413);
  await post(token, [callOf({}, 1), callOf({}, 2)]);
  expect((await post(token, '{"jsonrpc":')).status).toBe(400);
  expect(await leasesOf(user)).toBe(0);
  const own = { headers: { origin: 'https://browsers.example' } };
  expect((await post(token, callOf({}), own)).status).toBe(200);
});

describe('a runner', () => {
  /** Something at a runner's address that is no runner of ours; answers what a call to it was answered. */
  async function impostor(answer: { status: number; headers: Record<string, string>; body: string }) {
    const seen: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      seen.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`; // it listens on TCP
    const user = someUser();
    const token = await gateway.issuer.token(user);
    expect((await post(token, callOf({}))).status).toBe(200);
    await stack.database.query('update omicron.browser_sessions set mcp_url = $1 where user_id = $2', [url, user]);
    const result = (await (await post(token, callOf({}, 2), { headers: { cookie: 'a=b' } })).json()) as object;
    server.closeAllConnections();
    server.close();
    return { seen, token, result: JSON.stringify(result) };
  }

  it('is never sent the user’s token, nor a header that it does not need', async () => {
    const { seen, token } = await impostor({ status: 200, headers: {}, body: '{"jsonrpc":"2.0","id":2,"result":{}}' });
    expect(seen).toHaveLength(1);
    expect(JSON.stringify(seen)).not.toContain(token);
    expect(seen[0]?.headers.authorization).toMatch(/^Bearer [\w-]{43}$/); // the lease's own
    expect(Object.keys(seen[0]?.headers ?? {}).sort()).toEqual([
      ...['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host', NO_LINKS_HEADER],
    ]);
  });

  it('that redirects is not followed, and the call is not repeated', async () => {
    const location = 'http://169.254.169.254/latest/meta-data';
    const { seen, result } = await impostor({ status: 307, headers: { location }, body: '' });
    expect(seen.map(({ url }) => url)).toEqual(['/mcp']);
    expect(result).toContain('browser_unreachable');
  });

  it('that breaks off its answer ends the call with an error that says so', async () => {
    const { result, seen } = await impostor({ status: 200, headers: { 'content-length': '999' }, body: '{"jsonrpc"' });
    expect(result).toContain('call_interrupted');
    expect(seen).toHaveLength(1);
  });
});

it('serves one user 32 requests at a time, and others meanwhile', async () => {
  const user = someUser();
  const token = await gateway.issuer.token(user);
  const holding = new AbortController();
  const held = Array.from({ length: 32 }, (_, n) =>
    asIngress(HOST)(`${stack.url}/mcp`, {
      method: 'POST',
      signal: holding.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify(callOf({ of: user }, n, HOLD)),
    }).catch(() => {}),
  );
  await eventually('all to run', () => gateway.ran.filter(({ args }) => args.of === user).length === 32);
  expect((await post(token, callOf({}))).status).toBe(429);
  expect((await post(await gateway.issuer.token(someUser()), callOf({}))).status).toBe(200);
  holding.abort();
  await Promise.all(held);
  await eventually('a place to be free', async () => (await post(token, callOf({}))).status === 200);
});
