import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitForConnect } from '../../egress/dial.ts';
import { type ProxyNetwork, proxyNetwork } from './proxy-network.ts';
import { basic, exchange, get, isAnswer, parseAnswer, tunnel, untilClosed, upgrade } from './raw-client.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

let network: ProxyNetwork;
beforeAll(async () => {
  network = await proxyNetwork({
    'silent.test': { silent: true },
    'broken.test': { rcode: 'SERVFAIL' },
    'empty.test': {},
    'closed.test': { a: [PUBLIC_ADDRESS] },
    'slow-six.test': { a: [PUBLIC_ADDRESS], aaaa: [] },
  });
});
afterAll(() => network.close());

const open = async (auth: string, authority: string, early = ''): Promise<Socket> => {
  const outcome = await tunnel(network.egress.port, auth, authority, early);
  if (isAnswer(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  return outcome;
};
const site = (path = '/') => `http://site.test:${network.site.port}${path}`;
const send = async (lines: string): Promise<ReturnType<typeof parseAnswer>> =>
  parseAnswer(await exchange(network.egress.port, lines));

describe('traffic that the proxy carries', () => {
  it('passes a plain request on and gives the answer of the site', async () => {
    const answer = await get(network.egress.port, network.lease().auth, site('/a/b?c=d'));
    expect(answer).toMatchObject({ status: 200, body: 'GET /a/b?c=d', refusal: undefined });
  });

  it('serves many requests on one connection of the client', async () => {
    const { auth } = network.lease();
    const one = `GET ${site('/one')} HTTP/1.1\r\nHost: x\r\n${auth}\r\n`;
    const text = await exchange(network.egress.port, one + one + one.replace(auth, `${auth}Connection: close\r\n`));
    expect(text.match(/GET \/one/g)).toHaveLength(3);
  });

  it('carries bodies up, by length and chunked, and large ones down', async () => {
    const { auth } = network.lease();
    const post = `POST ${site('/up')} HTTP/1.1\r\nHost: x\r\n${auth}Connection: close\r\n`;
    await send(`${post}Content-Length: 5\r\n\r\nhello`);
    expect(network.site.requests.at(-1)).toMatchObject({ method: 'POST', body: 'hello' });
    await send(`${post}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`);
    expect(network.site.requests.at(-1)?.body).toBe('abcde');
    await send(`${post}\r\n`);
    expect(network.site.requests.at(-1)).toMatchObject({ body: '', headers: { 'content-length': '0' } });
    const down = await get(network.egress.port, auth, site('/bytes?count=3000000'));
    expect(down.body.length).toBe(3_000_000);
  });

  it('carries a tunnel, early bytes included, and half-closes it', async () => {
    const early = 'GET /through HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n';
    const socket = await open(network.lease().auth, `site.test:${network.site.port}`, early);
    socket.end();
    expect(await untilClosed(socket)).toContain('GET /through');
  });

  it.each(['tunnel', 'absolute form'])('carries a websocket through a %s, both ways', async way => {
    const { auth } = network.lease();
    const handshake = (path: string, extra: string) =>
      `GET ${path} HTTP/1.1\r\nHost: s\r\n${extra}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
    const socket =
      way === 'tunnel' ? await open(auth, `site.test:${network.site.port}`) : connect(network.egress.port, '127.0.0.1');
    socket.write(way === 'tunnel' ? handshake('/socket', '') : handshake(site('/socket'), auth));
    let text = '';
    socket.on('data', chunk => {
      text += chunk.toString('latin1');
      if (text.endsWith('\r\n\r\n')) socket.write('ping of the client');
      if (text.endsWith('ping of the client')) socket.end();
    });
    await once(socket.resume(), 'close');
    expect(text).toMatch(/^HTTP\/1\.1 101 .*\r\n[\s\S]*\r\n\r\nping of the client$/);
  });

  it('gives the answer of a site that declines a websocket', async () => {
    const answer = await upgrade(network.egress.port, network.lease().auth, `http://site.test:${network.trap.port}/no`);
    expect(answer).toMatchObject({ status: 200, body: 'SECRET' }); // the trap's port on the one address that is allowed
  });

  it('reaches a public address that is written as one, in any spelling', async () => {
    const { auth } = network.lease();
    for (const host of [PUBLIC_ADDRESS, '2130706509', '0x7f.77', '0177.0.0.0115'])
      expect((await get(network.egress.port, auth, `http://${host}:${network.site.port}/`)).status).toBe(200);
  });

  it('breaks off where the site broke off, so that half a body never looks whole', async () => {
    const answer = await get(network.egress.port, network.lease().auth, site('/cut'));
    expect(answer.headers['content-length']).toBe('1000');
    expect(answer.body.length).toBeLessThan(1000);
  });
});

describe('fields and facts that the proxy hides', () => {
  it('strips hop-by-hop and Proxy-* fields and the credential on the way to the site', async () => {
    const { auth, credential } = network.lease();
    await get(
      network.egress.port,
      auth,
      site('/h'),
      'X-Kept: yes\r\nX-Named: no\r\nTE: trailers\r\nProxy-Foo: no\r\nKeep-Alive: 5\r\nConnection: x-named\r\n',
    );
    const seen = network.site.requests.at(-1);
    expect(seen?.headers).toMatchObject({ 'x-kept': 'yes', host: `site.test:${network.site.port}` });
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(['connection', 'host', 'x-kept']);
    expect(JSON.stringify(seen)).not.toContain(Buffer.from(credential).toString('base64').slice(0, 12));
  });

  it("lets no site forge the proxy's own marks or challenge for the proxy's password", async () => {
    const answer = await get(network.egress.port, network.lease().auth, site('/marked'));
    expect(answer.headers).toMatchObject({ 'x-own': 'kept' });
    for (const name of ['x-omicron-refusal', 'proxy-authenticate', 'x-hop'])
      expect(answer.headers).not.toHaveProperty(name);
  });

  it("takes the URL's authority for Host, whatever Host said", async () => {
    const { auth } = network.lease();
    await send(`GET ${site('/host')} HTTP/1.1\r\nHost: metadata.google.internal\r\n${auth}Connection: close\r\n\r\n`);
    expect(network.site.requests.at(-1)?.headers.host).toBe(`site.test:${network.site.port}`);
  });
});

describe('clients that the proxy admits', () => {
  const wrong: [string, (auth: string) => string][] = [
    ['no credential', () => ''],
    ['another password', () => basic(randomUUID(), 'guess')],
    [
      'a known runner with a wrong password',
      auth =>
        basic(
          Buffer.from(auth.split(' ')[2] ?? '', 'base64')
            .toString()
            .split(':')[0] ?? '',
          'guess',
        ),
    ],
    ['a user that is no runner id', () => basic('root', 'guess')],
    ['another scheme', auth => auth.replace('Basic', 'Bearer')],
    ['bytes that are no base64', () => 'Proxy-Authorization: Basic %%%%\r\n'],
    ['an empty password', () => basic(randomUUID(), '')],
  ];
  it.each(wrong)('answers 407 to %s, and never says it back', async (_name, header) => {
    const auth = header(network.lease().auth);
    for (const answer of [
      await get(network.egress.port, auth, site()),
      await upgrade(network.egress.port, auth, site('/socket')),
      await tunnel(network.egress.port, auth, `site.test:${network.site.port}`),
    ]) {
      if (!isAnswer(answer)) throw new Error('a tunnel was opened');
      expect(answer).toMatchObject({ status: 407, refusal: 'credential_refused' });
      expect(answer.headers['proxy-authenticate']).toBe('Basic realm="omicron-egress"');
      expect(answer.body).not.toMatch(/guess|Basic/);
    }
  });
});

describe('refusals', () => {
  const cases: [string, string, number, string][] = [
    ['a name that does not exist', 'http://nowhere.test/', 502, 'name_not_found'],
    ['a name without addresses', 'http://empty.test/', 502, 'name_not_found'],
    ['a DNS server that fails', 'http://broken.test/', 502, 'dns_failed'],
    ['a DNS server that is silent', 'http://silent.test/', 504, 'dns_timeout'],
    ['a port without a listener', 'http://closed.test/', 502, 'connect_failed'],
    ['a port that is not open', 'http://site.test:22/', 403, 'port_refused'],
    ['https in absolute form', 'https://site.test/', 400, 'bad_request'],
    ['a request to the proxy itself', '/metrics', 400, 'bad_request'],
  ];
  it.each(cases)('says plainly: %s', async (_name, url, status, refusal) => {
    const answer = await get(network.egress.port, network.lease().auth, url);
    expect(answer).toMatchObject({ status, refusal });
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.body).toContain(`<code>${refusal}</code>`);
  });

  it('names both settings for a site of the machine itself, when its port is refused and when its address is', async () => {
    const { auth } = network.lease({ ports: [80, 443, 3000] });
    for (const [url, refusal] of [
      ['http://127.0.0.1:3001/', 'port_refused'],
      ['http://127.0.0.1:3000/', 'internal_address'],
      ['http://localhost:3000/', 'internal_name'],
    ] as const) {
      const answer = await get(network.egress.port, auth, url);
      expect(answer.refusal).toBe(refusal);
      expect(answer.body).toContain('OMICRON_EGRESS_ALLOWED_CIDRS=127.0.0.1/32');
      expect(answer.body).toContain('by a policy');
    }
  });

  it('says that it refused only where it did', async () => {
    const { auth } = network.lease();
    const closed = await get(network.egress.port, auth, 'http://closed.test/');
    expect(closed.body).toContain('<h1>The site could not be reached</h1>');
    expect(closed.body).not.toContain('did not let this through');
    const refused = await get(network.egress.port, auth, 'http://site.test:22/');
    expect(refused.body).toContain('did not let this through');
  });

  it('gives the same page and mark for a tunnel, closed afterwards', async () => {
    const answer = await tunnel(network.egress.port, network.lease().auth, '169.254.169.254:80');
    expect(answer).toMatchObject({ status: 403, refusal: 'internal_address' });
    if (isAnswer(answer)) expect(answer.body).toContain('network that browsers may not reach');
  });

  it('writes nothing of a host into the page that a browser could run', async () => {
    const answer = await get(network.egress.port, network.lease().auth, 'http://<script>alert(1)<!--/');
    expect(answer.refusal).toBe('bad_request');
    expect(answer.body).not.toContain('<script');
    expect(answer.headers['content-security-policy']).toBe("default-src 'none'");
  });

  it('gives up on an attempt to connect that leads nowhere', async () => {
    const socket = new Socket();
    expect(await waitForConnect(socket, 'connect', 20, new AbortController().signal)).toEqual({
      refused: 'connect_timeout',
    });
    expect(socket.destroyed).toBe(true);
  });
});

describe('shapes that smuggle', () => {
  const body = '5\r\nhello\r\n0\r\n\r\n';
  const heads: [string, string][] = [
    ['both lengths', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'],
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n'],
    ['a list of lengths', 'Content-Length: 5, 6\r\n'],
    ['a signed length', 'Content-Length: +5\r\n'],
    ['chunked twice', 'Transfer-Encoding: chunked, chunked\r\n'],
    ['chunked not last', 'Transfer-Encoding: chunked, identity\r\n'],
    ['an unknown coding', 'Transfer-Encoding: xchunked\r\n'],
    ['gzip under chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a folded line', 'X-A: b\r\n Transfer-Encoding: chunked\r\n'],
    ['a bare line feed', 'X-A: b\nTransfer-Encoding: chunked\r\n'],
    ['a bare carriage return', 'X-A: b\rTransfer-Encoding: chunked\r\n'],
    ['a null byte', 'X-A: b\u0000c\r\n'],
  ];
  it.each(heads)('refuses %s, and the site hears nothing', async (_name, head) => {
    const before = network.site.requests.length;
    const { auth } = network.lease();
    const answer = await send(`POST ${site('/smuggle')} HTTP/1.1\r\nHost: x\r\n${auth}${head}\r\n${body}`);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.refusal).toBe('bad_request');
    expect(network.site.requests.length).toBe(before);
  });

  it('lets no field of one request become a second request', async () => {
    const before = network.site.requests.length;
    const { auth } = network.lease();
    await send(
      `GET ${site('/first')} HTTP/1.1\r\nHost: x\r\n${auth}Upgrade: h2c\r\nConnection: Upgrade, close\r\n\r\nGET /second HTTP/1.1\r\n\r\n`,
    );
    expect(network.site.requests.slice(before).map(({ url }) => url)).toEqual(['/first']);
  });

  it('closes a connection whose head never ends or is too long', async () => {
    const { auth } = network.lease();
    const answer = await send(`GET ${site('/')} HTTP/1.1\r\n${auth}X: ${'a'.repeat(70_000)}\r\n\r\n`);
    expect(answer.refusal).toBe('bad_request');
  });
});

it('leaves nothing open behind it', async () => {
  const metrics = async () => (await fetch(`http://127.0.0.1:${network.egress.adminPort}/metrics`)).text();
  await expect.poll(metrics, { timeout: 30_000 }).toContain('omicron_egress_connections 0'); // kept for 10 s
});

it('counts by class and code, never by host, session or user', async () => {
  const lease = network.lease();
  await get(network.egress.port, lease.auth, 'http://169.254.169.254/latest/meta-data');
  const text = await (await fetch(`http://127.0.0.1:${network.egress.adminPort}/metrics`)).text();
  expect(text).toMatch(/omicron_egress_refusals_total\{code="internal_address",address_class="metadata"\} [1-9]/);
  expect(text).not.toMatch(/site\.test|169\.254/);
  expect(text).not.toContain(lease.sessionId);
  expect(text).not.toContain(lease.runnerId);
  expect(await (await fetch(`http://127.0.0.1:${network.egress.adminPort}/healthz`)).json()).toEqual({ ok: true });
});

it('logs no credential and nothing unforeseen', () => {
  expect(network.logs).toEqual([]);
});
