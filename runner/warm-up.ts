import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Assignment, RedeemAnswer } from '../contract/assignment.ts';
import { AUDIENCES } from '../contract/names.ts';
import { controllerKeys, type SigningKey, sha256Hex, signControllerToken, signingKey } from '../contract/tokens.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import { runnerServer } from './http.ts';
import { controllerClient } from './reporting/controller-client.ts';
import { createRunner } from './runner.ts';

/** Each request, and so the whole, ends in bounded time. */
const REQUEST_MS = 5_000;
const LEASE_MS = 60_000;

/**
 * Plays one whole lease with a controller of its own, under keys that are thrown away, in a browser context that is
 * closed afterwards: assignment, redemption, MCP, a page, a snapshot. The real lease then runs code that has run before,
 * in this process and in the browser. Rejects when the play fails; that costs the lease time, nothing else. A second
 * play showed no gain.
 */
export async function rehearse(browser: RunnerBrowser, tempDir: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = await signingKey(JSON.stringify(privateKey.export({ format: 'jwk' })));
  const stage = await listening(createServer(playController));
  try {
    await playLease(browser, tempDir, key, urlOf(stage));
  } finally {
    close(stage);
  }
}

async function playLease(browser: RunnerBrowser, tempDir: string, key: SigningKey, stageUrl: string): Promise<void> {
  const context = await browser.newContext();
  const filesDir = mkdtempSync(join(tempDir, 'rehearsal-'));
  const runnerId = randomUUID();
  const log = pino({ level: 'silent' });
  const runner = createRunner({
    ...{ runnerId, filesDir, log, outputDir: filesDir, ffmpeg: '', insecureLoginOrigins: [] },
    ...{ toolset: 'playwright', forwarder: undefined },
    keys: controllerKeys(JSON.stringify({ keys: [key.publicJwk] })),
    controller: controllerClient(stageUrl),
    launch: async () => ({ ...browser, context, gone: new Promise(() => {}), close: () => context.close() }),
    rehearse: async () => {},
  });
  const server = await listening(runnerServer(runner, log));
  try {
    await runner.warm();
    const id = randomUUID();
    const assignment: Assignment = {
      ...{ jti: id, session_id: id, epoch: 1, claim_id: id, runner_id: runnerId, boot_id: runner.bootId },
      ...{ user_id: 'rehearsal', options: { record_video: false } },
      ...{ mcp_token_sha256: sha256Hex('rehearsal'), artifacts_prefix: '' },
    };
    const audience = AUDIENCES.runner(runnerId, runner.bootId);
    const token = await signControllerToken(key, audience, assignment, { nowMs: Date.now(), seconds: 60 });
    await post(`${urlOf(server)}/assign`, { token });
    await playAgent(`${urlOf(server)}/mcp`, stageUrl);
  } finally {
    runner.stop('the rehearsal is over');
    await runner.ended;
    close(server);
    rmSync(filesDir, { recursive: true, force: true });
  }
}

/** What an agent does first. */
async function playAgent(mcpUrl: string, pageUrl: string): Promise<void> {
  const protocolVersion = '2025-06-18';
  const initialize = { protocolVersion, capabilities: {}, clientInfo: { name: 'rehearsal', version: '1' } };
  const headers: Record<string, string> = {};
  const send = (method: string, params: object, id?: number) =>
    post(mcpUrl, { jsonrpc: '2.0', method, params, ...(id === undefined ? {} : { id }) }, headers);
  const answer = await send('initialize', initialize, 1);
  headers['mcp-session-id'] = answer.headers.get('mcp-session-id') ?? '';
  headers['mcp-protocol-version'] = protocolVersion;
  await send('notifications/initialized', {});
  await send('tools/list', {}, 2);
  await send('tools/call', { name: 'browser_navigate', arguments: { url: pageUrl } }, 3);
}

/** Redemption, reports and a page, with nothing in them. Through an egress proxy the page is the refusal of one without lease. */
const playController: Parameters<typeof createServer>[1] = (request, response) => {
  const isPage = request.method === 'GET';
  const redeemed: RedeemAnswer = {
    ...{ secrets: {}, sites: [], egress_credential: '', policy: { version: '', layers: [] } },
    ...{ lease_token: 'rehearsal', artifact_token: 'rehearsal', remaining_ms: LEASE_MS },
  };
  response.setHeader('content-type', isPage ? 'text/html' : 'application/json');
  response.end(isPage ? '<!doctype html><title>Rehearsal</title><h1>Rehearsal</h1>' : JSON.stringify(redeemed));
};

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...{ authorization: 'Bearer rehearsal', 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', ...headers },
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}: ${text}`);
  return answer;
}

async function listening(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}
