import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { createConnection } from '@playwright/mcp';
import { actionTimeout } from '../contract/problem.ts';
import type { RunnerBrowser } from './browser.ts';
import type { PageGuard } from './page-guard.ts';
import { CAPABILITIES, listed, passedOn, refusedUrl, SNAPSHOT_AFTER, toolSeconds } from './tools.ts';
import { unwedge } from './unwedge.ts';

/** Playwright MCP over the runner's own context: one connection for the whole life of the runner, one call at a time. */
export interface BrowserTools {
  /** The allowed tools as Playwright MCP describes them. */
  readonly tools: readonly Tool[];
  /** Never rejects: every failure is a result that an agent can read. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  /** From now on `browser_type` and `browser_fill_form` take these names for their values. */
  setSecrets(secrets: Record<string, string>): void;
}

export interface BrowserToolsOptions {
  readonly browser: RunnerBrowser;
  readonly guard: PageGuard;
  /** Folder for what Playwright MCP writes by itself (downloads, console logs). */
  readonly filesDir: string;
  /** Seconds that a call of this tool may take. */
  readonly secondsMax?: (tool: string) => number | undefined;
}

const ACTION_MS = 5_000;
const NAVIGATION_MS = 30_000;
const SNAPSHOT_MS = 5_000;
/** Playwright MCP's own files (screenshots, downloads, logs) are dropped, oldest first, above this. */
const FILES_BYTES_MAX = 64 * 1024 * 1024;
/** A longer snapshot is cut: the agent may ask for a part of it. */
const SNAPSHOT_CHARACTERS_MAX = 60_000;

export const failure = (...lines: string[]): CallToolResult => ({
  content: lines.map(text => ({ type: 'text', text })),
  isError: true,
});

const BROWSER_GONE = failure(
  'sandbox_runtime_required',
  'The browser of this lease has stopped. Ask for the session again and connect to the new address.',
);

/** Connects and runs one call, so that the first call of an agent finds everything in place. */
export async function browserTools(options: BrowserToolsOptions): Promise<BrowserTools> {
  const { browser, guard, filesDir, secondsMax = toolSeconds } = options;
  const { context } = browser;
  // Playwright MCP reads this object at each call, so secrets may come later. No prototype: `constructor` is no secret.
  const secrets: Record<string, string> = Object.create(null);
  const server = await createConnection(
    {
      capabilities: [...CAPABILITIES],
      secrets,
      webmcp: false,
      snapshot: { mode: 'none' },
      outputDir: filesDir,
      outputMaxSize: FILES_BYTES_MAX,
      console: { level: 'error' },
      timeouts: { action: ACTION_MS, navigation: NAVIGATION_MS },
    },
    async () => context,
  );
  const client = new Client({ name: 'omicron-runner', version: '1' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  const { tools } = await client.listTools();

  const request = (name: string, args: Record<string, unknown>, timeoutMs: number, signal: AbortSignal) =>
    client.request({ method: 'tools/call', params: { name, arguments: args } }, CallToolResultSchema, {
      signal,
      timeout: timeoutMs,
    });

  async function callNow(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    if (browser.isGone()) return BROWSER_GONE;
    const seconds = secondsMax(name);
    if (seconds === undefined)
      return failure(`The tool "${name}" is not available here. tools/list has those that are.`);
    const refused = refusedUrl(args.url);
    if (refused !== undefined) return failure(refused);
    try {
      const work =
        name === 'browser_close' ? closeTabs(seconds) : request(name, passedOn(args), seconds * 1_000, signal);
      const result = await Promise.race([work, browser.gone.then(() => BROWSER_GONE)]);
      if (result.isError) return explained(name, result);
      return SNAPSHOT_AFTER.has(name) ? await withSnapshot(result, signal).catch(() => result) : result;
    } catch (error) {
      if (browser.isGone()) return BROWSER_GONE;
      if (signal.aborted) return failure('The call was cancelled.');
      if (error instanceof McpError && error.code === ErrorCode.RequestTimeout) {
        const notes = await unwedge(context, guard);
        return failure(actionTimeout(name, seconds), 'The call was given up; the next one is served.', ...notes);
      }
      return failure(error instanceof Error ? error.message : 'The call failed.');
    }
  }

  /** Upstream's browser_close ends the connection for good; the lease's browser stays, with one blank tab. */
  async function closeTabs(seconds: number): Promise<CallToolResult> {
    const old = context.pages();
    await context.newPage();
    const closed = Promise.all(old.map(page => page.close()));
    if ((await Promise.race([closed, delay(seconds * 1_000, 'late')])) === 'late')
      return failure(actionTimeout('browser_close', seconds));
    return { content: [{ type: 'text', text: 'All tabs were closed; one blank tab is open.' }] };
  }

  const takeSnapshot = (signal: AbortSignal) => request('browser_snapshot', {}, SNAPSHOT_MS, signal);

  /** What upstream writes into a file on its own disk, put into the answer. */
  async function withSnapshot(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    const snapshot = await takeSnapshot(signal).catch(() => unwedge(context, guard).then(() => takeSnapshot(signal)));
    const text = snapshot.content.map(part => (part.type === 'text' ? part.text : '')).join('\n');
    if (snapshot.isError || !text) return result;
    const cut =
      text.length <= SNAPSHOT_CHARACTERS_MAX
        ? text
        : `${text.slice(0, SNAPSHOT_CHARACTERS_MAX)}\n(cut; browser_find or browser_snapshot with target or depth shows the rest)`;
    return { ...result, content: [...withoutPage(result.content), { type: 'text', text: cut }] };
  }

  function explained(name: string, result: CallToolResult): CallToolResult {
    if (browser.isGone()) return BROWSER_GONE;
    const text = result.content.map(part => (part.type === 'text' ? part.text : '')).join('\n');
    const timeout = /TimeoutError: .*Timeout (\d+)ms exceeded/.exec(text);
    if (timeout === null) return result;
    return failure(actionTimeout(name, Number(timeout[1]) / 1_000), text);
  }

  let last: Promise<unknown> = Promise.resolve();
  const call: BrowserTools['call'] = (name, args, signal) => {
    const turn = last.then(() => (signal.aborted ? failure('The call was cancelled.') : callNow(name, args, signal)));
    last = turn;
    return turn;
  };
  await call('browser_tabs', { action: 'list' }, AbortSignal.timeout(SNAPSHOT_MS));
  return {
    tools: tools.map(listed).filter(tool => tool !== undefined),
    call,
    setSecrets(given) {
      // Longest first: upstream redacts in this order, and a value may lie inside another.
      const sorted = Object.entries(given).sort(([, a], [, b]) => b.length - a.length);
      for (const [name, value] of sorted) secrets[name] = value;
    },
  };
}

/** The snapshot repeats page and tabs. */
const withoutPage = (content: CallToolResult['content']): CallToolResult['content'] =>
  content.map(part =>
    part.type === 'text'
      ? { ...part, text: part.text.replace(/^### (Page|Open tabs)\n(?:(?!### ).*\n?)*/gm, '') }
      : part,
  );
