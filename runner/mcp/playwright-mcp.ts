import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { realClock } from '../../http/clock.ts';
import { refusedUrl } from '../browser/addresses.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import type { Incidents } from '../browser/incidents.ts';
import type { PageGuard } from '../browser/page-guard.ts';
import { recoverPages } from '../browser/recover-page.ts';
import { type Settled, settler } from '../settle/settle.ts';
import type { Conceal } from '../tools/cut.ts';
import { failure } from '../tools/result.ts';
import { unknownTool } from '../tools/unknown-tool.ts';
import { CANCELLED, callBounds, workOnPage } from './bounds.ts';
import { connectPlaywright } from './connection.ts';
import { LEAVES_PAGE, leavePage } from './leave-page.ts';
import { listed } from './listing.ts';
import { firstChangeMs, passedOn, SNAPSHOT_AFTER, toolSeconds } from './playwright-tools.ts';
import { addSnapshot, SNAPSHOT_MS } from './snapshot.ts';
import { closeTabs, currentPage, TABS_FULL } from './tabs.ts';

/**
 * Playwright MCP over the runner's own context, one connection for the whole life of the runner, and what the custom
 * tools share with it: the page, the turns and the bounds. Nothing here rejects: every failure is a result for the
 * agent.
 */
export interface PlaywrightMcp {
  /** The allowed tools, as agents see them. */
  readonly tools: readonly Tool[];
  /** Runs `work` once every turn before has ended: calls do not overlap. `work` never rejects. */
  turn(signal: AbortSignal, work: () => Promise<CallToolResult>): Promise<CallToolResult>;
  /** Calls a tool of Playwright MCP. Only inside a turn. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  /**
   * Runs work on the page that Playwright MCP's tools act on. Only inside a turn; its `signal` ends with the bound.
   */
  onPage(
    name: string,
    seconds: number,
    signal: AbortSignal,
    work: (page: Page, signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
  /** What acts on a page goes through it. */
  readonly settled: Settled;
  /** The result with a snapshot of the page as it is now. Only inside a turn. */
  withSnapshot(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult>;
  /**
   * From now on Playwright MCP takes these values out of what it writes, and `conceal` out of what is cut. It is never
   * asked to type one.
   */
  setSecrets(secrets: Readonly<Record<string, string>>, conceal: Conceal): void;
  /** Tabs that were closed and downloads that were cancelled because they took too much. */
  readonly incidents: Incidents;
  /** Whether any tab shows something else than a blank page. */
  showsContent(): boolean;
}

export interface PlaywrightMcpOptions {
  readonly browser: RunnerBrowser;
  readonly guard: PageGuard;
  /** Folder for what Playwright MCP writes by itself (downloads, console logs). */
  readonly filesDir: string;
  /** Seconds that a call of this tool may take. */
  readonly secondsMax?: (tool: string) => number | undefined;
}

/** Connects and runs one call, so that the first call of an agent finds everything in place. */
export async function playwrightMcp(options: PlaywrightMcpOptions): Promise<PlaywrightMcp> {
  const { browser, guard, filesDir, secondsMax = toolSeconds } = options;
  const { context } = browser;
  const connection = await connectPlaywright(context, filesDir);
  const { bounded, explained } = callBounds(browser, guard);
  const tools = connection.tools.map(listed).filter(tool => tool !== undefined);

  let conceal: Conceal = async text => text;
  const snapshot = (signal: AbortSignal) => connection.request('browser_snapshot', {}, SNAPSHOT_MS, signal);

  /** The result alone where no snapshot can be taken. */
  async function withSnapshot(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    if (result.isError) return result;
    try {
      const taken = snapshot(signal).catch(() => recoverPages(context, guard).then(() => snapshot(signal)));
      return await addSnapshot(result, await taken, conceal);
    } catch {
      return result;
    }
  }

  /** Why a call is not passed on to Playwright MCP; undefined: it is. */
  function refusal(name: string, args: Record<string, unknown>): CallToolResult | undefined {
    const refused = refusedUrl(args.url);
    if (refused !== undefined) return failure(refused);
    if (name === 'browser_tabs' && args.action === 'new' && guard.isFull()) return TABS_FULL;
    // It would type the value, into a page of any origin.
    if (typedTexts(args).some(text => typeof text === 'string' && connection.isSecretName(text)))
      return failure('The name of a secret stands where it cannot be filled in.');
    return undefined;
  }

  async function call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const seconds = secondsMax(name);
    if (seconds === undefined)
      return unknownTool(
        name,
        tools.map(tool => tool.name),
      );
    const refused = refusal(name, args);
    if (refused !== undefined) return refused;
    return bounded(name, seconds, signal, async () => {
      if (name === 'browser_close') return closeTabs(context, guard, seconds);
      const request = () => connection.request(name, passedOn(args), seconds * 1_000, signal);
      const acting = () => answered(name, signal, request);
      const result = await (LEAVES_PAGE.has(name) ? leaving(signal, acting) : acting());
      if (result.isError) return explained(name, result);
      return SNAPSHOT_AFTER.has(name) ? withSnapshot(result, signal) : result;
    });
  }

  /** What changes nothing does not ask which page it acts on. */
  async function answered(name: string, signal: AbortSignal, request: () => Promise<CallToolResult>) {
    const firstMs = firstChangeMs(name);
    if (firstMs === undefined) return request();
    return settled(await current(signal), request, { firstMs, unless: ({ isError }) => isError === true });
  }

  const settled = settler(context, realClock.nowMs);
  const current = (signal: AbortSignal) => currentPage(context, connection, signal);
  const leaving = (signal: AbortSignal, leave: () => Promise<CallToolResult>) =>
    leavePage({ current: () => current(signal), guard, connection, signal }, leave);
  const turn = turns();
  const first = AbortSignal.timeout(SNAPSHOT_MS);
  await turn(first, () => call('browser_snapshot', {}, first));
  return {
    tools,
    turn,
    call,
    settled,
    withSnapshot,
    onPage: (name, seconds, signal, work) =>
      bounded(name, seconds, signal, async () => {
        const run = async () => workOnPage(await current(signal), guard, { seconds, signal }, work);
        return LEAVES_PAGE.has(name) ? leaving(signal, run) : run();
      }),
    setSecrets(secrets, concealWith) {
      connection.setSecrets(secrets);
      conceal = concealWith;
    },
    incidents: guard.incidents,
    showsContent: () => context.pages().some(page => page.url() !== 'about:blank'),
  };
}

/** Runs pieces of work one after the other; one that is cancelled before it starts is skipped. */
function turns(): PlaywrightMcp['turn'] {
  let last: Promise<unknown> = Promise.resolve();
  return (signal, work) => {
    const mine = last.then(() => (signal.aborted ? CANCELLED : work()));
    last = mine;
    return mine;
  };
}

/** Where Playwright MCP would put a secret's value for its name. */
const typedTexts = ({ text, fields }: Record<string, unknown>): unknown[] => [
  text,
  ...(Array.isArray(fields) ? fields.map((field: unknown) => Object(field).value) : []),
];
