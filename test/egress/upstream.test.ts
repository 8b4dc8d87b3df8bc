import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testCertificate } from '../site/certificate.ts';
import { proxiedBrowser } from './proxied-browser.ts';
import { type ProxyNetwork, proxyNetwork } from './proxy-network.ts';
import { get, isAnswer, tunnel, untilClosed } from './raw-client.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

/** From here the deployment's other proxy dials, whichever runner asks. */
const FIXED_ADDRESS = '127.0.0.9';

/** The deployment's other proxy: records what it is asked and dials it. */
let upstream: Server;
const asked: { url: string; authorization: string | undefined }[] = [];
let accept = true;
let network: ProxyNetwork;

/** Its answer to a CONNECT: writes down what it was asked, and dials that. */
function serve(proxy: Server): Server {
  return proxy.on('connect', (request, client, head) => {
    asked.push({ url: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    if (!accept) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
    const { hostname, port } = new URL(`http://${request.url}`);
    const site = connect({ port: Number(port), host: hostname, localAddress: FIXED_ADDRESS }, () => {
      // Head and first bytes in one segment: nothing of the site's may be lost.
      client.write('HTTP/1.1 200 OK\r\nX-Some: header\r\n\r\n');
      if (head.length > 0) site.write(head);
      client.pipe(site).pipe(client);
    });
    for (const socket of [client, site]) socket.on('error', () => {});
  });
}

beforeAll(async () => {
  upstream = serve(createServer((_request, response) => response.writeHead(500).end()));
  await new Promise<void>(listening => upstream.listen(0, '127.0.0.1', listening));
  const { port } = upstream.address() as AddressInfo; // a TCP server that listens has one
  network = await proxyNetwork(
    { 'bad.test': { a: ['10.0.0.1'] } },
    { OMICRON_EGRESS_UPSTREAM_URL: `http://127.0.0.1:${port}` },
    config => ({ ...config, upstreamCredential: 'corp:pass' }),
  );
});
afterAll(async () => {
  await network.close();
  upstream.closeAllConnections();
  await new Promise(closed => upstream.close(closed));
});

it('asks the upstream proxy for the address that was judged, http sites too, with the credential', async () => {
  const { auth } = network.lease();
  expect(await get(network.egress.port, auth, `http://site.test:${network.site.port}/plain`)).toMatchObject({
    status: 200,
    body: 'GET /plain',
  });
  const early = 'GET /tunnelled HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n';
  const socket = await tunnel(network.egress.port, auth, `site.test:${network.site.port}`, early);
  if (isAnswer(socket)) throw new Error('refused');
  expect(await untilClosed(socket)).toContain('GET /tunnelled');
  const authorization = `Basic ${Buffer.from('corp:pass').toString('base64')}`;
  expect(asked).toEqual([
    { url: `${PUBLIC_ADDRESS}:${network.site.port}`, authorization },
    { url: `${PUBLIC_ADDRESS}:${network.site.port}`, authorization },
  ]);
  expect(network.site.requests[0]?.headers.host).toBe(`site.test:${network.site.port}`);
});

it('judges here: what is internal never gets as far as the upstream proxy', async () => {
  const before = asked.length;
  for (const host of ['bad.test', '169.254.169.254', 'localhost'])
    expect((await get(network.egress.port, network.lease().auth, `http://${host}/`)).status).toBe(403);
  expect(asked.length).toBe(before);
});

it('says plainly that the upstream proxy did not take the credential, and never the credential', async () => {
  accept = false;
  const answer = await get(network.egress.port, network.lease().auth, `http://site.test:${network.site.port}/`);
  expect(answer).toMatchObject({ status: 502, refusal: 'connect_failed' });
  expect(answer.body).toContain('upstream proxy did not accept its credential');
  expect(answer.body).not.toContain('corp');
});

it('reaches an https upstream proxy under the deployment’s own authority, and no other', async () => {
  const { key, cert } = testCertificate('localhost');
  const secure = serve(createSecureServer({ key, cert }, (_request, response) => response.writeHead(500).end()));
  await new Promise<void>(listening => secure.listen(0, 'localhost', listening));
  const { port } = secure.address() as AddressInfo; // a TCP server that listens has one
  const through = (ca: string | undefined) =>
    proxyNetwork({}, { OMICRON_EGRESS_UPSTREAM_URL: `https://localhost:${port}` }, config => ({
      ...config,
      upstreamCa: ca,
    }));
  const worlds = await Promise.all([cert, undefined, testCertificate('localhost').cert].map(through));
  accept = true;
  try {
    const answers = await Promise.all(
      worlds.map(({ egress, lease, site }) => get(egress.port, lease().auth, `http://site.test:${site.port}/plain`)),
    );
    expect(answers[0]).toMatchObject({ status: 200, body: 'GET /plain' });
    for (const distrustful of answers.slice(1))
      expect(distrustful).toMatchObject({ status: 502, refusal: 'connect_failed' });
  } finally {
    await Promise.all(worlds.map(each => each.close()));
    secure.closeAllConnections();
    await new Promise(closed => secure.close(closed));
  }
});

it("[B6] a browser's requests pass an https upstream proxy of a private authority, leave from its one address, and reach a site of a private authority", async () => {
  accept = true;
  const proxyCertificate = testCertificate('localhost');
  const secure = serve(
    createSecureServer({ ...proxyCertificate }, (_request, response) => response.writeHead(500).end()),
  );
  await new Promise<void>(listening => secure.listen(0, 'localhost', listening));
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port; // TCP servers that listen
  const trusted = testCertificate('intranet.test');
  const sites = [trusted, testCertificate('intranet.test')].map(certificate =>
    createSecureServer({ ...certificate }, ({ socket }, response) =>
      response.end(`asked from ${socket.remoteAddress}`),
    ),
  );
  for (const site of sites) await new Promise<void>(listening => site.listen(0, PUBLIC_ADDRESS, listening));
  const [known = 0, unknown = 0] = sites.map(portOf);
  const world = await proxyNetwork(
    { 'intranet.test': { a: [PUBLIC_ADDRESS] } },
    { OMICRON_EGRESS_UPSTREAM_URL: `https://localhost:${portOf(secure)}` },
    config => ({ ...config, upstreamCa: proxyCertificate.cert }),
  );
  const { browser, close } = await proxiedBrowser(world, world.lease({ ports: [known, unknown] }), trusted.spki);
  try {
    const page = browser.context.pages()[0] ?? (await browser.context.newPage());
    await page.goto(`https://intranet.test:${known}/`);
    expect(await page.textContent('body')).toBe(`asked from ${FIXED_ADDRESS}`);
    await expect(page.goto(`https://intranet.test:${unknown}/`)).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID');
  } finally {
    await close();
    await world.close();
    for (const server of [secure, ...sites]) {
      server.closeAllConnections();
      await new Promise(closed => server.close(closed));
    }
  }
});
