import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { type ProxyNetwork, proxyNetwork, type TestLease } from './proxy-network.ts';
import { exchange, get } from './raw-client.ts';
import { answer, type RawConnection, type RawSite, rawSite } from './raw-site.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

/** Connections that the proxy keeps to sites: what they save, and whom they must not serve. */
let network: ProxyNetwork;
let site: RawSite;
const OTHER_ADDRESS = '127.0.0.78';

beforeAll(async () => {
  site = await rawSite('0.0.0.0');
  network = await proxyNetwork(
    { 'other.test': { a: [PUBLIC_ADDRESS] }, 'third.test': { a: [PUBLIC_ADDRESS] } },
    {
      OMICRON_EGRESS_ALLOWED_CIDRS: `${PUBLIC_ADDRESS}/32,${OTHER_ADDRESS}/32`,
      OMICRON_EGRESS_CONNECTIONS_PER_LEASE: '2',
    },
  );
});
afterAll(async () => {
  await network.close();
  await site.close();
});
beforeEach(() => {
  site.reset();
  network.dns.zone['site.test'] = { a: [PUBLIC_ADDRESS] };
});

/** The targets of a connection's requests. */
const paths = ({ heard }: RawConnection) => heard.map(head => head.split(' ')[1]);
const heard = () => site.connections.flatMap(each => each.heard);
const socketAt = (place: number): Socket => {
  const { socket } = site.connections[place] ?? {};
  if (!socket) throw new Error(`the site has no connection ${place}`);
  return socket;
};
const lease = () => network.lease({ ports: [site.port] });
const fetchOf = ({ auth }: TestLease, path = '/', host = 'site.test') =>
  get(network.egress.port, auth, `http://${host}:${site.port}${path}`);
const post = async ({ auth }: TestLease) =>
  exchange(
    network.egress.port,
    `POST http://site.test:${site.port}/post HTTP/1.1\r\nHost: x\r\n${auth}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  );

it("uses one connection to a site for all of a lease's requests, whichever connection they came on", async () => {
  const ours = lease();
  for (const path of ['/1', '/2', '/3']) expect((await fetchOf(ours, path)).body).toBe('ok');
  expect(site.connections.map(paths)).toEqual([['/1', '/2', '/3']]);
});

it('opens another one while the first is busy', async () => {
  const ours = lease();
  const held = Promise.withResolvers<Socket>();
  site.serve = (socket, request) =>
    request.includes('/slow') ? held.resolve(socket) : void socket.write(answer('ok'));
  const slow = fetchOf(ours, '/slow');
  const socket = await held.promise;
  expect((await fetchOf(ours, '/quick')).body).toBe('ok');
  socket.write(answer('late'));
  expect((await slow).body).toBe('late');
  expect(site.connections).toHaveLength(2);
});

it('never gives a lease the connection of another one, nor a site that of another name at the same address', async () => {
  const [ours, theirs] = [lease(), lease()];
  await fetchOf(ours);
  await fetchOf(theirs);
  await fetchOf(ours, '/', 'other.test');
  expect(site.connections.map(({ heard }) => heard.length)).toEqual([1, 1, 1]);
});

it('looks the name up for every request, and follows it: refused when it turns internal, dialled when it has moved', async () => {
  const ours = lease();
  await fetchOf(ours);
  network.dns.zone['site.test'] = { a: ['10.0.0.1'] };
  expect(await fetchOf(ours)).toMatchObject({ status: 403, refusal: 'internal_address' });
  network.dns.zone['site.test'] = { a: [OTHER_ADDRESS] };
  expect((await fetchOf(ours)).body).toBe('ok');
  expect(site.connections.map(({ local, heard }) => [local, heard.length])).toEqual([
    [PUBLIC_ADDRESS, 1],
    [OTHER_ADDRESS, 1],
  ]);
});

it('closes an idle connection when a policy forbids the site, and when the lease ends', async () => {
  const ours = lease();
  await fetchOf(ours);
  const forbidden = once(socketAt(0), 'close');
  ours.setSites([{ layer: 'session', sites: { ports: [site.port], deny: ['site.test'] } }]);
  await forbidden;
  expect(await fetchOf(ours)).toMatchObject({ status: 403, refusal: 'site_denied' });
  await fetchOf(ours, '/', 'other.test');
  const ended = once(socketAt(1), 'close');
  ours.end();
  await ended;
});

it('does not take bytes that a site sends ahead with its answer for the next one', async () => {
  const ours = lease();
  site.serve = socket => {
    site.serve = next => next.write(answer('second'));
    socket.write(answer('first') + answer('poison'));
  };
  expect((await fetchOf(ours, '/first')).body).toBe('first');
  expect((await fetchOf(ours, '/second')).body).toBe('second');
  expect(site.connections.map(paths)).toEqual([['/first'], ['/second']]);
});

it('closes an idle connection on which a site sends anything', async () => {
  await fetchOf(lease());
  const closed = once(socketAt(0), 'close');
  socketAt(0).write(answer('poison'));
  await closed;
});

it('does not take bytes that arrive together with the next request for its answer', async () => {
  const ours = lease();
  const client = connect(network.egress.port, '127.0.0.1').setEncoding('latin1');
  const ask = async (poison: () => void) => {
    client.write(`GET http://${PUBLIC_ADDRESS}:${site.port}/ HTTP/1.1\r\nHost: x\r\n${ours.auth}\r\n`);
    poison();
    expect((await once(client, 'data'))[0]).toMatch(/ok$/);
  };
  await ask(() => {});
  for (let round = 0; round < 20; round++)
    await ask(() => socketAt(site.connections.length - 1).write(answer('poison')));
  client.destroy();
});

it('does not take a body where none belongs for the next answer', async () => {
  const ours = lease();
  site.serve = socket => {
    site.serve = next => next.write(answer('second'));
    const body = answer('poison');
    socket.write(`HTTP/1.1 304 Not Modified\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  };
  expect((await fetchOf(ours, '/first')).status).toBe(304);
  expect((await fetchOf(ours, '/second')).body).toBe('second');
});

it('sends a request again when its kept connection was closed, but only one that changes nothing', async () => {
  const ours = lease();
  site.serve = socket => {
    socket.write(answer('ok'));
    site.serve = late => {
      site.serve = next => next.write(answer('again'));
      late.resetAndDestroy(); // as a site that gave up the connection while the request was under way
    };
  };
  await fetchOf(ours, '/first');
  expect((await fetchOf(ours, '/second')).body).toBe('again');
  expect(site.connections.map(paths)).toEqual([['/first', '/second'], ['/second']]);
  site.serve = socket => socket.resetAndDestroy();
  expect(await post(ours)).toMatch(/^HTTP\/1\.1 502 /);
  expect(heard().filter(head => head.startsWith('POST'))).toHaveLength(1);
});

it('gives up after one repetition', async () => {
  const ours = lease();
  await fetchOf(ours, '/first');
  site.serve = socket => socket.resetAndDestroy();
  expect(await fetchOf(ours, '/lost')).toMatchObject({ status: 502, refusal: 'upstream_failed' });
  expect(heard().filter(head => head.includes('/lost'))).toHaveLength(2);
});

it('keeps no connection that a site ends, whether it says so or not', async () => {
  const ours = lease();
  site.serve = socket => socket.write(answer('ok', 'Connection: close\r\n'));
  await fetchOf(ours);
  site.serve = socket => socket.end(answer('ok'));
  await fetchOf(ours);
  await fetchOf(ours);
  expect(site.connections.map(({ heard }) => heard.length)).toEqual([1, 1, 1]);
});

it('closes the connection of a client that left before the answer was whole', async () => {
  const ours = lease();
  const begun = Promise.withResolvers<Socket>();
  site.serve = socket => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun');
    begun.resolve(socket);
  };
  const client = connect(network.egress.port, '127.0.0.1');
  client.write(`GET http://site.test:${site.port}/ HTTP/1.1\r\nHost: x\r\n${ours.auth}\r\n`);
  const gone = once(await begun.promise, 'close');
  await once(client, 'data');
  client.destroy();
  await gone;
});

it('closes an idle connection for a request to another site when the lease has no other left', async () => {
  const ours = lease();
  await fetchOf(ours);
  await fetchOf(ours, '/', 'other.test');
  expect((await fetchOf(ours, '/', 'third.test')).body).toBe('ok');
  await eventually('the connection idle for longest is closed', () => socketAt(0).destroyed);
  expect(socketAt(1).destroyed).toBe(false);
});
