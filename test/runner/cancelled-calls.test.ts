import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { type Site, startSite } from '../site/site.ts';
import { CLIENTS, v2 } from './mcp-clients.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

let site: Site;
let lease: LeasedRunner;
/** A site that never answers. */
let silent: Server;
beforeAll(async () => {
  site = await startSite();
  silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  lease = await startLease({ recordVideo: false });
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  await site?.close();
  silent?.closeAllConnections();
  silent?.close();
});

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // a TCP server has a port
const address = () => ({
  mcpUrl: `${lease.runner.url}/mcp`,
  headers: { authorization: `Bearer ${lease.mcpToken}` },
});

describe.each(Object.entries(CLIENTS))('a client of %s', (_name, { start }) => {
  test.each(['cancels', 'goes away in'] as const)('%s a call, and the next one is served at once', async how => {
    const client = await start(address());
    const cancelling = new AbortController();
    const requested = once(silent, 'request');
    const query = `?${randomUUID()}`;
    const waiting = client.call('browser_navigate', { url: `${urlOf(silent)}${query}` }, cancelling.signal);
    const ended = expect(waiting).rejects.toThrow();
    await requested;
    if (how === 'cancels') cancelling.abort();
    else await client.vanish();
    await ended;
    const next = await v2(address());
    const url = `${site.url}/${query}`;
    expect(await next.call('browser_navigate', { url })).toMatchObject({ isError: false });
    // The next call did not wait until the navigation, which is never answered, ran into its own time limit.
    const [cancelled, served] = await eventually('both on the timeline', () => {
      const calls = lease.controller.events.filter(({ data }) => JSON.stringify(data.arguments ?? '').includes(query));
      return calls.length === 2 && calls;
    });
    expect(cancelled?.data).toMatchObject({ outcome: 'error', error: expect.stringContaining('call_cancelled') });
    expect(served?.data).toMatchObject({ outcome: 'ok', arguments: { url } });
    await next.close();
    await client.close();
  });
});
