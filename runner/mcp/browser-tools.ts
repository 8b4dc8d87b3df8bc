import { once } from 'node:events';
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
import type { Page } from 'playwright-core';
import { actionTimeout } from '../../contract/problem.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import { type PageGuard, TABS_MAX } from '../browser/page-guard.ts';
import { unwedge } from '../browser/recover-page.ts';
import { unknownTool } from '../tools/unknown-tool.ts';
import { CAPABILITIES, listed, passedOn, refusedUrl, SNAPSHOT_AFTER, toolSeconds } from './playwright-tools.ts';

/**
 * Playwright MCP over the runner's own context, one connection for the whole life of the runner, and what our own tools
 * share with it: the page, the turns and the bounds. Nothing here rejects: every failure is a result for the agent.
 */
export interface BrowserTools {
  /** The allowed tools as Playwright MCP describes them. */
  readonly tools: readonly Tool[];
  /** Runs `work` once every turn before has ended: calls do not overlap. `work` never rejects. */
  turn(signal: AbortSignal, work: () => Promise<CallToolResult>): Promise<CallToolResult>;
  /** A tool of Playwright MCP. Only inside a turn. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  /** Work of our own on the page that Playwright MCP's tools act on. Only inside a turn; `signal` ends with the bound. */
  onPage(
    name: string,
    seconds: number,
    signal: AbortSignal,
    work: (page: Page, signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
  /** The result with a snapshot of the page as it is now. Only inside a turn. */
  withSnapshot(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult>;
  /** From now on Playwright MCP takes these values out of what it writes; it is never asked to type one. */
  setSecrets(secrets: Readonly<Record<string, string>>): void;
  /** Whether any tab shows something else than a blank page. */
  showsContent(): boolean;
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
  'browser_crashed',
  'The browser of this lease crashed. Ask for the session again and connect to the new address.',
);

const DIALOG_OPEN = failure('A dialog is open on the page; answer it with browser_handle_dialog.');

const TABS_FULL = failure(
  `${TABS_MAX} tabs are open, and a browser here has no more; close one first, with browser_tabs and the action close.`,
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

  /** Every way in which work on the browser may fail, as a result. */
  async function bounded(name: string, seconds: number, signal: AbortSignal, work: () => Promise<CallToolResult>) {
    if (browser.isGone()) return BROWSER_GONE;
    try {
      return await Promise.race([work(), browser.gone.then(() => BROWSER_GONE)]);
    } catch (error) {
      if (browser.isGone()) return BROWSER_GONE;
      if (signal.aborted) return failure('The call was cancelled.');
      if (isTimeout(error)) {
        const notes = await unwedge(context, guard);
        return failure(actionTimeout(name, seconds), 'The call was given up; the next one is served.', ...notes);
      }
      return explained(name, failure(error instanceof Error ? error.message : 'The call failed.'));
    }
  }

  function call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const seconds = secondsMax(name);
    if (seconds === undefined)
      return Promise.resolve(
        unknownTool(
          name,
          tools.map(listed).flatMap(tool => tool?.name ?? []),
        ),
      );
    const refused = refusedUrl(args.url);
    if (refused !== undefined) return Promise.resolve(failure(refused));
    if (name === 'browser_tabs' && args.action === 'new' && guard.isFull()) return Promise.resolve(TABS_FULL);
    // It would type the value, into a page of any origin.
    if (typed(args).some(text => typeof text === 'string' && Object.hasOwn(secrets, text)))
      return Promise.resolve(failure('The name of a secret stands where it cannot be filled in.'));
    return bounded(name, seconds, signal, async () => {
      if (name === 'browser_close') return closeTabs(seconds);
      const result = await request(name, passedOn(args), seconds * 1_000, signal);
      if (result.isError) return explained(name, result);
      return SNAPSHOT_AFTER.has(name) ? await withSnapshot(result, signal).catch(() => result) : result;
    });
  }

  const onPage: BrowserTools['onPage'] = (name, seconds, signal, work) =>
    bounded(name, seconds, signal, async () => {
      const page = await currentPage(signal);
      const abort = new AbortController();
      const { promise: ended, resolve: end, reject: giveUp } = Promise.withResolvers<CallToolResult>();
      const onAbort = () => end(failure('The call was cancelled.'));
      const onDialog = () => end(DIALOG_OPEN);
      const late = setTimeout(() => giveUp(new McpError(ErrorCode.RequestTimeout, 'late')), seconds * 1_000);
      ended.catch(() => undefined);
      signal.addEventListener('abort', onAbort, { once: true });
      page.once('dialog', onDialog);
      try {
        if (guard.showsDialog(page)) return DIALOG_OPEN;
        const worked = work(page, abort.signal);
        worked.catch(() => undefined);
        return await Promise.race([worked, ended]);
      } finally {
        clearTimeout(late);
        signal.removeEventListener('abort', onAbort);
        page.off('dialog', onDialog);
        abort.abort();
      }
    });

  /** The page on which Playwright MCP's next tool would act: it alone knows which tab was selected. */
  async function currentPage(signal: AbortSignal): Promise<Page> {
    const [only, ...others] = context.pages();
    if (only === undefined) return context.newPage();
    if (others.length === 0) return only;
    const list = await request('browser_tabs', { action: 'list' }, SNAPSHOT_MS, signal);
    const text = list.content.map(part => (part.type === 'text' ? part.text : '')).join('\n');
    const index = /^- (\d+): \(current\)/m.exec(text)?.[1];
    return context.pages()[Number(index ?? 0)] ?? only;
  }

  /** Upstream's browser_close ends the connection for good; the lease's browser stays, with one blank tab. */
  async function closeTabs(seconds: number): Promise<CallToolResult> {
    const blank = await guard.newTab();
    const others = () => context.pages().filter(page => page !== blank);
    const late = AbortSignal.timeout(seconds * 1_000);
    const closeOthers = async () => {
      // Popups of a tab that closes may still arrive.
      while (others().length > 0 && !late.aborted) await Promise.all(others().map(page => page.close()));
    };
    await Promise.race([closeOthers(), once(late, 'abort')]);
    if (late.aborted) return failure(actionTimeout('browser_close', seconds));
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
    const timeout = /Timeout (\d+)ms exceeded/.exec(text);
    if (timeout === null) return result;
    return failure(actionTimeout(name, Number(timeout[1]) / 1_000), text);
  }

  let last: Promise<unknown> = Promise.resolve();
  const turn: BrowserTools['turn'] = (signal, work) => {
    const mine = last.then(() => (signal.aborted ? failure('The call was cancelled.') : work()));
    last = mine;
    return mine;
  };
  const first = AbortSignal.timeout(SNAPSHOT_MS);
  await turn(first, () => call('browser_snapshot', {}, first));
  return {
    tools: tools.map(listed).filter(tool => tool !== undefined),
    turn,
    call,
    onPage,
    withSnapshot: (result, signal) =>
      result.isError ? Promise.resolve(result) : withSnapshot(result, signal).catch(() => result),
    setSecrets(given) {
      // Longest first: upstream redacts in this order, and a value may lie inside another.
      const sorted = Object.entries(given).sort(([, a], [, b]) => b.length - a.length);
      for (const [name, value] of sorted) secrets[name] = value;
    },
    showsContent: () => context.pages().some(page => page.url() !== 'about:blank'),
  };
}

/** Where Playwright MCP would put a secret's value for its name. */
const typed = ({ text, fields }: Record<string, unknown>): unknown[] => [
  text,
  ...(Array.isArray(fields) ? fields.map((field: unknown) => Object(field).value) : []),
];

const isTimeout = (error: unknown): boolean => error instanceof McpError && error.code === ErrorCode.RequestTimeout;

/** The snapshot repeats page and tabs. */
const withoutPage = (content: CallToolResult['content']): CallToolResult['content'] =>
  content.map(part =>
    part.type === 'text'
      ? { ...part, text: part.text.replace(/^### (Page|Open tabs)\n(?:(?!### ).*\n?)*/gm, '') }
      : part,
  );
