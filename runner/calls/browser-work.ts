import { join } from 'node:path';
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import type { BrowserContext, Page } from 'playwright-core';
import { realClock } from '../../time/clock.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import { forgetEmptyDocuments } from '../browser/empty-documents.ts';
import type { Incidents } from '../browser/incidents.ts';
import type { PageGuard } from '../browser/page-guard.ts';
import type { Conceal } from '../budget/cut.ts';
import { TOKENS_DEFAULT } from '../budget/fit.ts';
import { RunningSpans } from '../reporting/running-spans.ts';
import { type Settler, settler } from '../settle/settle.ts';
import { tracePageLoads } from '../settle/trace-page-loads.ts';
import { SNAPSHOT_MS, type View } from '../snapshot/view.ts';
import { type SnapshotWriter, snapshotWriter } from '../snapshot/writer.ts';
import { lineWriter } from '../text-thread/line-writer.ts';
import { type TextThread, textThread } from '../text-thread/text-thread.ts';
import type { ToolDefinition } from '../tools/define-tool.ts';
import { connectPlaywright, type PlaywrightConnection } from '../upstream/connection.ts';
import { playwrightSnapshot, selectTab } from '../upstream/requests.ts';
import { boundNames, currentPage, currentTab } from '../upstream/tabs.ts';
import { type Bounds, callBounds, workOnPage } from './bounds.ts';
import { leavePage } from './leave-page.ts';
import { type Turn, turns } from './turns.ts';

/** Everything in the browser that one call needs, the same for all calls of a runner. */
export interface BrowserParts extends Bounds {
  readonly context: BrowserContext;
  readonly guard: PageGuard;
  readonly connection: PlaywrightConnection;
  readonly settler: Settler;
  readonly writer: SnapshotWriter;
  /** Searches with the patterns of agents. */
  readonly patterns: TextThread;
  /** The page on which the next tool acts; one is opened where there is none. */
  current(): Promise<Page>;
  /** The view of pages that the running call asks for. */
  view(): View;
  /** Whether a page may hold a secret. */
  isGuarding(): boolean;
  /** Runs work that may leave the page: of a tool that does, dialogs that hold the page back are answered meanwhile. */
  leaving(
    tool: Pick<ToolDefinition, 'effect'>,
    signal: AbortSignal,
    work: () => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
}

/** The browser of a runner for the calls of its lease. Nothing here rejects: every failure is a result for the agent. */
export interface BrowserWork {
  readonly parts: BrowserParts;
  /** The tools that Playwright MCP has, as it describes them. */
  readonly tools: readonly ListedTool[];
  readonly turn: Turn;
  /** Spans of running calls and page loads. */
  readonly spans: RunningSpans;
  /** Runs work on the page that tools act on, within these seconds. Only inside a turn; its `signal` ends with the bound. */
  onPage(
    bounds: { readonly name: string; readonly seconds: number },
    signal: AbortSignal,
    work: (page: Page, signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<CallToolResult>;
  /** The tab that the next call acts on; undefined where there is none, or a dialog in any tab, behind which it may not answer. */
  answeringTab(): Page | undefined;
  /** Sets how this turn's call wants to see pages. Only inside a turn, at its start. */
  show(view: View): void;
  /** Makes tools act on the tab at this index. */
  selectTab(index: number, signal: AbortSignal): Promise<CallToolResult>;
  /**
   * From now on `conceal` takes secrets out of what is cut, and Playwright MCP is asked to type none of these names.
   * While `isGuarding`, a page may hold a value in pieces: then no answer is about one element alone.
   */
  setSecrets(names: readonly string[], conceal: Conceal, isGuarding: () => boolean): void;
  /** From now on Playwright MCP takes this value out of what it writes. */
  addSecret(name: string, value: string): void;
  /** Tabs that were closed and downloads that were cancelled because they took too much. */
  readonly incidents: Incidents;
  /** From here files are uploaded: Playwright MCP and the browser's user read what lies there. */
  readonly uploadsDir: string;
  /** Whether any tab shows something else than a blank page. */
  showsContent(): boolean;
}

export interface BrowserWorkOptions {
  readonly browser: RunnerBrowser;
  readonly guard: PageGuard;
  /** Folder for what Playwright MCP writes by itself (downloads, console logs), and for what it uploads. */
  readonly filesDir: string;
}

/** A search of the longest page takes a tenth of it. */
const PATTERN_SECONDS = 5;
/** Named in the result of a selection that takes longer, which no agent reads. */
const SELECT_SECONDS = 45;

/** Connects and runs one call, so that the first call of an agent finds everything in place. */
export async function browserWork({ browser, guard, filesDir }: BrowserWorkOptions): Promise<BrowserWork> {
  const { context } = browser;
  boundNames(context, () => guard.dialogs.all().length > 0);
  forgetEmptyDocuments(context);
  const spans = new RunningSpans();
  tracePageLoads(context, spans);
  const connection = await connectPlaywright(context, filesDir);
  let view: View = { snapshot: 'full', tokensMax: TOKENS_DEFAULT };
  let conceal: Conceal = async text => text;
  let isGuarding = () => false;
  const bounds = callBounds(browser, guard, () => isGuarding());
  const settle = settler(context, { nowMs: realClock.nowMs, awaited: guard.awaited });
  const current = () => currentPage(context);
  const patterns = textThread({ seconds: PATTERN_SECONDS });
  const parts: BrowserParts = {
    ...bounds,
    context,
    guard,
    connection,
    current,
    settler: settle,
    writer: snapshotWriter(context, text => conceal(text), settle.look, lineWriter(patterns)),
    patterns,
    view: () => view,
    isGuarding: () => isGuarding(),
    leaving: ({ effect }, signal, work) =>
      effect === 'leaves' ? leavePage({ current, guard, connection, signal }, work) : work(),
  };
  const turn = turns();
  await takeFirstTurn(turn, parts);
  return {
    parts,
    turn,
    spans,
    tools: connection.tools,
    onPage: ({ name, seconds }, signal, work) =>
      bounds.bounded(name, seconds, signal, async () => workOnPage(await current(), guard, { seconds, signal }, work)),
    answeringTab() {
      const page = currentTab(context);
      return guard.dialogs.all().length > 0 ? undefined : page;
    },
    show(wanted) {
      view = wanted;
      settle.begin(wanted.snapshot === 'changes');
    },
    selectTab: (index, signal) =>
      turn(signal, () =>
        bounds.bounded('The selection of a tab', SELECT_SECONDS, signal, () => selectTab(connection, index, signal)),
      ),
    addSecret: connection.addSecret,
    setSecrets(names, concealWith, guarding) {
      connection.setSecretNames(names);
      conceal = concealWith;
      isGuarding = guarding;
    },
    incidents: guard.incidents,
    uploadsDir: join(filesDir, 'uploads'),
    showsContent: () => context.pages().some(page => page.url() !== 'about:blank'),
  };
}

/** Playwright MCP makes its tabs at its own first call. */
async function takeFirstTurn(turn: Turn, { bounded, connection }: BrowserParts): Promise<void> {
  const signal = AbortSignal.timeout(SNAPSHOT_MS);
  await turn(signal, () =>
    bounded('The first snapshot', SNAPSHOT_MS / 1_000, signal, async () => {
      await playwrightSnapshot(connection, signal);
      return { content: [] };
    }),
  );
}
