import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import type { Assignment, RedeemAnswer } from '../contract/assignment.ts';
import { AUDIENCES } from '../contract/names.ts';
import { controllerKeys, type SigningKey, sha256Hex, signControllerToken, signingKey } from '../contract/tokens.ts';
import { writeTraceparent } from '../process/traceparent.ts';
import { realClock } from '../time/clock.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import { TOKENS_DEFAULT } from './budget/fit.ts';
import { DEFAULT_FILE_LIMITS } from './files/limits.ts';
import { runnerServer } from './http.ts';
import type { LeaseSettings } from './lease/settings.ts';
import { controllerClient } from './reporting/controller-client.ts';
import { createRunner } from './runner.ts';
import { ariaTree } from './snapshot/aria-tree.ts';
import { navigate } from './tools/navigate.ts';

/** Each request, and so the whole, ends in bounded time. */
const REQUEST_MS = 5_000;
const LEASE_MS = 60_000;

const SETTINGS: Omit<LeaseSettings, 'outputDir'> = {
  ...DEFAULT_FILE_LIMITS,
  toolset: 'playwright',
  snapshot: 'changes',
  keepPages: 'none',
  tokensMax: TOKENS_DEFAULT,
  imageText: false,
  checkpointSeconds: 0,
  freezeSeconds: 0,
  insecureLoginOrigins: [],
  ffmpegPath: '',
};

/**
 * Runs one whole lease against a controller of its own, under keys that are discarded, in a browser context that is
 * closed afterwards: assignment, redemption, MCP, a page, a snapshot. The real lease then runs code that has run
 * before, in this process and in the browser. Rejects when a step fails; that costs the real lease time, nothing
 * else. Neither a second warm-up nor more pages showed a gain.
 */
export async function warmUp(browser: RunnerBrowser, tempDir: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = signingKey(JSON.stringify(privateKey.export({ format: 'jwk' })));
  const controller = await startListening(createServer(warmUpController));
  try {
    await warmUpLease(browser, tempDir, key, urlOf(controller));
    await Promise.all(browser.context.pages().map(warmUpPage));
  } finally {
    close(controller);
  }
}

/**
 * Has the process of the lease's own blank page compile what its first document needs: Playwright's script, which Chromium keeps by now for
 * each new document (ADR 0054), and what a snapshot runs. The page stays blank, and has no history.
 */
async function warmUpPage(page: Page): Promise<void> {
  await page.goto('about:blank', { timeout: REQUEST_MS });
  await ariaTree(page, REQUEST_MS, AbortSignal.timeout(REQUEST_MS));
}

async function warmUpLease(
  browser: RunnerBrowser,
  tempDir: string,
  key: SigningKey,
  controllerUrl: string,
): Promise<void> {
  const context = await browser.newContext();
  const filesDir = mkdtempSync(join(tempDir, 'warm-up-'));
  const runnerId = randomUUID();
  const log = pino({ level: 'silent' });
  const runner = createRunner({
    runnerId,
    filesDir,
    profileDir: filesDir,
    settings: { ...SETTINGS, outputDir: filesDir },
    log,
    clock: realClock,
    forwarder: undefined,
    keys: controllerKeys(JSON.stringify({ keys: [key.publicJwk] })),
    controller: controllerClient(controllerUrl),
    launch: async () => ({ ...browser, context, gone: new Promise(() => {}), close: () => context.close() }),
    warmUp: async () => {},
  });
  const server = await startListening(runnerServer(runner, { mcpOrigins: [], log }));
  try {
    await runner.warm();
    const token = assignmentToken(key, runnerId, runner.bootId);
    await post(`${urlOf(server)}/assign`, { token });
    await warmUpAgent(`${urlOf(server)}/mcp`, controllerUrl);
  } finally {
    runner.stop('the warm-up is over');
    await runner.ended;
    close(server);
    rmSync(filesDir, { recursive: true, force: true });
  }
}

function assignmentToken(key: SigningKey, runnerId: string, bootId: string): string {
  const id = randomUUID();
  const assignment: Assignment = {
    jti: id,
    session_id: id,
    epoch: 1,
    claim_id: id,
    runner_id: runnerId,
    boot_id: bootId,
    user_id: 'warm-up',
    options: { record_video: false },
    mcp_token_sha256: sha256Hex('warm-up'),
    artifacts_prefix: '',
  };
  const audience = AUDIENCES.runner(runnerId, bootId);
  return signControllerToken(key, audience, assignment, { nowMs: Date.now(), seconds: 60 });
}

/** The first acts of an agent. */
async function warmUpAgent(mcpUrl: string, pageUrl: string): Promise<void> {
  const protocolVersion = '2025-06-18';
  const initialize = { protocolVersion, capabilities: {}, clientInfo: { name: 'warm-up', version: '1' } };
  const headers: Record<string, string> = {};
  const send = (method: string, params: object, id?: number) =>
    post(mcpUrl, { jsonrpc: '2.0', method, params, ...(id === undefined ? {} : { id }) }, headers);
  const answer = await send('initialize', initialize, 1);
  headers['mcp-session-id'] = answer.headers.get('mcp-session-id') ?? '';
  headers['mcp-protocol-version'] = protocolVersion;
  await send('notifications/initialized', {});
  await send('tools/list', {}, 2);
  // Not sampled: no agent has asked for it.
  const traceparent = writeTraceparent({ traceId: randomHex(16), spanId: randomHex(8), traceFlags: 0 });
  await send('tools/call', { name: navigate.name, arguments: { url: pageUrl }, _meta: { traceparent } }, 3);
}

const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex');

/**
 * Answers a redemption, reports and a page, with nothing in them. Through an egress proxy the page is its refusal of
 * a browser without a lease.
 */
const warmUpController: Parameters<typeof createServer>[1] = (request, response) => {
  const isPage = request.method === 'GET';
  const redeemed: RedeemAnswer = {
    secrets: { WARM_UP_PASSWORD: randomUUID() }, // is looked for in what the page shows
    sites: [],
    egress_credential: '',
    policy: { version: '', layers: [] },
    lease_token: 'warm-up',
    artifact_token: 'warm-up',
    remaining_ms: LEASE_MS,
  };
  response.setHeader('content-type', isPage ? 'text/html' : 'application/json');
  response.end(isPage ? '<!doctype html><title>Warm-up</title><h1>Warm-up</h1>' : JSON.stringify(redeemed));
};

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: 'Bearer warm-up',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}: ${text}`);
  return answer;
}

async function startListening(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}
