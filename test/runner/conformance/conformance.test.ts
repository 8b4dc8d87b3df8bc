import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LeasedRunner, startLease } from '../start-lease.ts';

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);
const listOf = (version: string): string => fileURLToPath(new URL(`${version}.yml`, import.meta.url));

let lease: LeasedRunner;
let proxy: Server;
let folder: string;
beforeAll(async () => {
  lease = await startLease();
  folder = await mkdtemp(join(tmpdir(), 'omicron-conformance-'));
  proxy = authorizing(lease).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy?.closeAllConnections();
  proxy?.close();
  await lease?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Adds the lease's token, which the suite cannot send. */
function authorizing({ runner, mcpToken }: LeasedRunner): Server {
  return createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${mcpToken}` };
    const passed = request(new URL(asked.url ?? '', runner.url), { method: asked.method, headers }, response => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
}

test.each(['2026-07-28', '2025-11-25'])(
  '[M1] the official conformance suite for %s finds no failure that is not listed with its reason, and no entry of the list passes',
  async version => {
    const { port } = proxy.address() as AddressInfo; // a TCP server has a port
    const args = ['server', '--url', `http://127.0.0.1:${port}/mcp`, '--spec-version', version, '-o', folder];
    const { promise, resolve } = Promise.withResolvers<{ code: unknown; output: string }>();
    execFile(process.execPath, [SUITE, ...args, '--expected-failures', listOf(version)], (error, output) =>
      resolve({ code: error?.code ?? 0, output }),
    );
    const { code, output } = await promise;
    expect(code, output).toBe(0);
    const listed = (await readFile(listOf(version), 'utf8')).match(/^ {2}- /gm) ?? [];
    expect(output.match(/^✓/gm)?.length).toBeGreaterThan(5);
    expect(output.match(/^✗/gm)).toHaveLength(listed.length);
  },
  120_000,
);
