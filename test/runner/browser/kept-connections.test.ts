import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type EgressForwarder, egressForwarder } from '../../../runner/browser/egress-forwarder.ts';
import { exchange } from '../../egress/raw-client.ts';
import { answer, type RawSite, rawSite } from '../../egress/raw-site.ts';

/** The forwarder's connections to the egress proxy, whose side is a server that counts them. */
let proxy: RawSite;
let forwarder: EgressForwarder;
beforeAll(async () => {
  proxy = await rawSite('127.0.0.1');
});
beforeEach(async () => {
  proxy.reset();
  await forwarder?.close();
  forwarder = await egressForwarder({ egressUrl: `http://127.0.0.1:${proxy.port}` });
  forwarder.lease({ runnerId: 'r', credential: 'c', holdsSecret: () => false });
});
afterAll(async () => {
  await forwarder.close();
  await proxy.close();
});

const port = () => Number(new URL(forwarder.proxyUrl).port);
/** A plain request of the browser, each on a connection of its own. */
function fetchPath(path: string): Promise<{ status: number | undefined; body: string }> {
  const agent = new Agent({ keepAlive: true });
  return new Promise((done, failed) => {
    get({ host: '127.0.0.1', port: port(), path: `http://site.test${path}`, agent }, async response => {
      done({ status: response.statusCode, body: await text(response) });
      agent.destroy();
    }).once('error', failed);
  });
}
const paths = () => proxy.connections.map(({ heard }) => heard.map(head => head.split(' ')[1]));

it('uses one connection to the proxy for requests that follow each other', async () => {
  for (const path of ['/1', '/2', '/3']) expect(await fetchPath(path)).toEqual({ status: 200, body: 'ok' });
  expect(paths()).toEqual([['http://site.test/1', 'http://site.test/2', 'http://site.test/3']]);
});

it('takes no bytes that were sent ahead for the next answer', async () => {
  proxy.serve = socket => {
    proxy.serve = next => next.write(answer('second'));
    socket.write(answer('first') + answer('poison'));
  };
  expect((await fetchPath('/first')).body).toBe('first');
  expect((await fetchPath('/second')).body).toBe('second');
  expect(paths()).toEqual([['http://site.test/first'], ['http://site.test/second']]);
});

it('sends a request again when its kept connection was closed, but only one that changes nothing', async () => {
  await fetchPath('/first');
  proxy.serve = socket => {
    proxy.serve = next => next.write(answer('again'));
    socket.resetAndDestroy();
  };
  expect((await fetchPath('/second')).body).toBe('again');
  expect(paths()).toEqual([['http://site.test/first', 'http://site.test/second'], ['http://site.test/second']]);

  proxy.serve = socket => socket.write(answer('ok'));
  await fetchPath('/third');
  proxy.serve = socket => socket.resetAndDestroy();
  expect((await fetchPath('/lost')).status).toBe(502);
  const post = `POST http://site.test/post HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
  expect(await exchange(port(), post)).toMatch(/^HTTP\/1\.1 502 /);
  const heard = paths().flat();
  expect(heard.filter(path => path === 'http://site.test/lost')).toHaveLength(2);
  expect(heard.filter(path => path === 'http://site.test/post')).toHaveLength(1);
});
