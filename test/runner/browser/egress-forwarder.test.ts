import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type EgressForwarder, egressForwarder } from '../../../runner/browser/egress-forwarder.ts';
import { redactor } from '../../../runner/reporting/redact.ts';
import { type ProxyNetwork, proxyNetwork } from '../../egress/proxy-network.ts';
import { exchange, get, isAnswer, parseAnswer, tunnel, untilClosed } from '../../egress/raw-client.ts';

let w: ProxyNetwork;
let forwarder: EgressForwarder;
const port = () => Number(new URL(forwarder.proxyUrl).port);
beforeAll(async () => {
  w = await proxyNetwork({});
});
afterAll(() => w.close());
afterEach(() => forwarder.close());

const { holds: holdsSecret } = redactor({ SHOP_PASSWORD: 'correct-horse-42' });

const start = async (leased = true) => {
  forwarder = await egressForwarder({ egressUrl: `http://127.0.0.1:${w.egress.port}` });
  const lease = w.lease({ deny: ['denied.test'] });
  if (leased) forwarder.lease({ ...lease, holdsSecret });
  return lease;
};

it('lets nothing out before there is a lease, and everything of the lease after', async () => {
  const lease = await start(false);
  const url = `http://site.test:${w.site.port}/x`;
  expect(await get(port(), '', url)).toMatchObject({ status: 503, refusal: 'no_lease' });
  expect(await tunnel(port(), '', `site.test:${w.site.port}`)).toMatchObject({ status: 503, refusal: 'no_lease' });
  expect(await get(port(), lease.auth, url)).toMatchObject({ status: 503 }); // a credential of the page's own is no use
  expect(w.site.requests).toEqual([]);
  forwarder.lease({ ...lease, holdsSecret });
  expect(await get(port(), '', url)).toMatchObject({ status: 200, body: 'GET /x' });
});

it('reports to no one a name that a page made of a password', async () => {
  await start();
  const before = w.site.requests.length;
  for (const name of ['correcthorse42', 'horse42.x', Buffer.from('correct-horse-42').toString('hex')]) {
    const host = `${name}.site.test`;
    expect(await get(port(), '', `http://${host}:${w.site.port}/x`)).toMatchObject({
      status: 403,
      refusal: 'secret_in_name',
    });
    expect(await tunnel(port(), '', `${host}:443`)).toMatchObject({ status: 403, refusal: 'secret_in_name' });
  }
  expect(forwarder.refusals.map(({ code }) => code)).toEqual(Array.from({ length: 6 }, () => 'secret_in_name'));
  // The domain itself is not made up.
  expect(await tunnel(port(), '', 'www.correct-horse.test:443')).not.toMatchObject({ refusal: 'secret_in_name' });
  expect(w.site.requests).toHaveLength(before);
});

it('carries tunnels with early bytes, bodies and several requests on one connection', async () => {
  await start();
  const early = 'GET /t HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n';
  const socket = await tunnel(port(), '', `site.test:${w.site.port}`, early);
  if (isAnswer(socket)) throw new Error('refused');
  expect(await untilClosed(socket)).toContain('GET /t');

  const post = `POST http://site.test:${w.site.port}/p HTTP/1.1\r\nHost: x\r\n`;
  const text = await exchange(
    port(),
    `${post}Content-Length: 2\r\n\r\nab${post}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncd\r\n0\r\n\r\n`,
  );
  expect(text.match(/POST \/p/g)).toHaveLength(2);
  expect(w.site.requests.slice(-2).map(({ body }) => body)).toEqual(['ab', 'cd']);
});

it('reports to the runner what was refused and why, for tunnels too, whose page Chromium hides', async () => {
  await start();
  expect(await get(port(), '', 'http://denied.test/')).toMatchObject({ status: 403, refusal: 'site_denied' });
  expect(await tunnel(port(), '', '169.254.169.254:443')).toMatchObject({ status: 403, refusal: 'internal_address' });
  expect(forwarder.refusals).toMatchObject([
    { code: 'site_denied', status: 403, authority: 'denied.test' },
    { code: 'internal_address', status: 403, authority: '169.254.169.254:443' },
  ]);
});

it('never passes on a credential that came from the browser, nor its own to a site', async () => {
  const lease = await start();
  const answer = parseAnswer(
    await exchange(
      port(),
      `GET http://site.test:${w.site.port}/c HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic eDp5\r\nConnection: close\r\n\r\n`,
    ),
  );
  expect(answer.status).toBe(200);
  expect(JSON.stringify(w.site.requests.at(-1))).not.toMatch(new RegExp(`eDp5|${lease.auth.split(' ')[2]?.trim()}`));
});

it('closes every connection with the lease', async () => {
  await start();
  const socket = await tunnel(port(), '', `site.test:${w.site.port}`);
  if (isAnswer(socket)) throw new Error('refused');
  const gone = once(socket.resume(), 'close').catch(() => {});
  socket.on('end', () => socket.end());
  await forwarder.close();
  await gone;
});
