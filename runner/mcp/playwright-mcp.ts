import { join } from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Dialog, Page } from 'playwright-core';
import { type Refusal, refused } from '../../contract/tool-failure.ts';
import { realClock } from '../../http/clock.ts';
import { refusedUrl } from '../browser/addresses.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import { forgetEmptyDocuments } from '../browser/empty-documents.ts';
import type { Incidents } from '../browser/incidents.ts';
import type { PageGuard } from '../browser/page-guard.ts';
import { recoverPages } from '../browser/recover-page.ts';
import type { Conceal } from '../budget/cut.ts';
import { TOKENS_DEFAULT } from '../budget/fit.ts';
import { type SettleOptions, type Settler, settler } from '../settle/settle.ts';
import { SNAPSHOT_MS, type View } from '../snapshot/view.ts';
import { snapshotWriter } from '../snapshot/writer.ts';
import { textOf, withNotes } from '../tools/result.ts';
import { unfitFields } from '../tools/unfit-fields.ts';
import { unknownTool } from '../tools/unknown-tool.ts';
import { CANCELLED, callBounds, ended, workOnPage } from './bounds.ts';
import { connectPlaywright } from './connection.ts';
import { type DirectCall, directCall } from './direct.ts';
import { chooserNotes, closeFileChoosers } from './file-choosers.ts';
import { LEAVES_PAGE, leavePage } from './leave-page.ts';
import { listed } from './listing.ts';
import { firstChangeMs, passedOn, SNAPSHOT_AFTER, toolSeconds } from './playwright-tools.ts';
import { type Reading, readingOf } from './reading.ts';
import { addSnapshot } from './snapshot.ts';
import { boundNames, closeTabs, currentPage, currentTab, TABS_FULL } from './tabs.ts';
import { upstreamTabOf } from './upstream-tab.ts';

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
  readonly settled: Settler['settled'];
  readonly challenge: Settler['challenge'];
  /** The tab that the next call acts on; undefined where there is none, or a dialog, behind which no page answers. */
  answeringTab(): Page | undefined;
  /** What `withSnapshot` adds in this turn. Only inside a turn, at its start. */
  show(view: View): void;
  /** The result with a snapshot of the page as it is now, where the call wants one. Only inside a turn. */
  withSnapshot(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult>;
  /**
   * From now on Playwright MCP takes these values out of what it writes, and `conceal` out of what is cut. It is never
   * asked to type one. While `isGuarding`, a page may hold one in pieces: then nothing tells of one element alone.
   */
  setSecrets(secrets: Readonly<Record<string, string>>, conceal: Conceal, isGuarding: () => boolean): void;
  /** Tabs that were closed and downloads that were cancelled because they took too much. */
  readonly incidents: Incidents;
  /** From here files are uploaded: Playwright MCP and the browser's user read what lies there. */
  readonly uploadsDir: string;
  /** Whether any tab shows something else than a blank page. */
  showsContent(): boolean;
}

export interface PlaywrightMcpOptions {
  readonly browser: RunnerBrowser;
  readonly guard: PageGuard;
  /** Folder for what Playwright MCP writes by itself (downloads, console logs), and for what it uploads. */
  readonly filesDir: string;
  /** Seconds that a call of this tool may take. */
  readonly secondsMax?: (tool: string) => number | undefined;
}

/** Connects and runs one call, so that the first call of an agent finds everything in place. */
export async function playwrightMcp(options: PlaywrightMcpOptions): Promise<PlaywrightMcp> {
  const { browser, guard, filesDir, secondsMax = toolSeconds } = options;
  const { context } = browser;
  boundNames(context);
  forgetEmptyDocuments(context);
  const connection = await connectPlaywright(context, filesDir);
  const { bounded, explained } = callBounds(browser, guard, () => isGuarding());
  const tools = connection.tools.map(listed).filter(tool => tool !== undefined);
  const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name);
  const keepsChooser = new Set([...reading, 'browser_file_upload', 'browser_tabs']);

  let view: View = { snapshot: 'full', tokensMax: TOKENS_DEFAULT };
  let conceal: Conceal = async text => text;
  let isGuarding = () => false;

  /** The result alone where no snapshot can be taken. */
  async function withSnapshot(result: CallToolResult, signal: AbortSignal): Promise<CallToolResult> {
    if (result.isError || view.snapshot === 'none') return result;
    const taken = async () => {
      const page = await current().catch(() => undefined);
      // Behind a dialog no page answers; Playwright MCP tells of the dialog.
      const isOurs = view.snapshot !== 'playwright' && page !== undefined && !guard.showsDialog(page);
      return addSnapshot(result, await (isOurs ? writer.after(page, view, signal) : theirs(signal)));
    };
    return recovering(taken, result);
  }

  /** What reads the page, once more after what blocks it was freed; else `otherwise`, or rejects. With what was done about it. */
  async function recovering(read: () => Promise<CallToolResult>, otherwise?: CallToolResult): Promise<CallToolResult> {
    try {
      return await read();
    } catch {
      const notes = await recoverPages(context, guard);
      const result = await read().catch((error: unknown) => {
        if (otherwise === undefined) throw error;
        return otherwise;
      });
      return { ...result, content: [...result.content, ...notes.map(text => ({ type: 'text' as const, text }))] };
    }
  }

  /** Playwright MCP's own snapshot. */
  async function theirs(signal: AbortSignal): Promise<string> {
    const taken = await connection.request('browser_snapshot', {}, SNAPSHOT_MS, signal);
    return taken.isError ? '' : textOf(taken);
  }

  /** Why a call is not passed on to Playwright MCP; undefined: it is. */
  function refusal(name: string, args: Record<string, unknown>): CallToolResult | undefined {
    const closed = refusedUrl(args.url);
    if (closed !== undefined) return refused(closed);
    if (name === 'browser_tabs' && args.action === 'new' && guard.isFull()) return TABS_FULL;
    // It would type the value, into a page of any origin.
    if (typedTexts(args).some(text => typeof text === 'string' && connection.isSecretName(text)))
      return refused(NAME_MISPLACED);
    return undefined;
  }

  async function call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const seconds = secondsMax(name);
    if (seconds === undefined)
      return unknownTool(
        name,
        tools.map(tool => tool.name),
      );
    const refusing = refusal(name, args);
    if (refusing !== undefined) return refusing;
    return bounded(name, seconds, signal, async () => {
      if (name === 'browser_close') return closeTabs(context, guard, seconds);
      if (!keepsChooser.has(name)) closeFileChoosers(await current());
      const read = reads(name, args);
      if (read !== undefined)
        return recovering(async () =>
          workOnPage(await current(), guard, { seconds, signal }, (page, inTime) =>
            read(writer, page, { ...view, timeoutMs: seconds * READ_SHARE_MS }, inTime),
          ),
        );
      const passed = passedOn(args);
      const request = () => answered(name, () => connection.request(name, passed, seconds * 1_000, signal));
      const direct = directCall(name, passed);
      const act = direct === undefined ? request : () => directly(name, { seconds, signal }, direct, request);
      const result = await (LEAVES_PAGE.has(name) ? leaving(signal, act) : act());
      if (result.isError) return explained(name, result);
      return SNAPSHOT_AFTER.has(name) ? withSnapshot(result, signal) : result;
    });
  }

  /** How a page is read by our own writer; undefined: Playwright MCP does it, which reads one element without the rest of its page. */
  function reads(name: string, args: Record<string, unknown>): Reading | undefined {
    const isPart = isGuarding() && args.target !== undefined;
    return view.snapshot === 'playwright' && !isPart ? undefined : readingOf(name, args);
  }

  /** What changes nothing does not ask which page it acts on. */
  async function answered(name: string, request: () => Promise<CallToolResult>) {
    const firstMs = firstChangeMs(name);
    if (firstMs === undefined) return request();
    return settled(await current(), request, { firstMs, unless: ({ isError }) => isError === true });
  }

  /** Playwright MCP alone knows what a page with a dialog waits for: `request` asks it. */
  async function directly(
    name: string,
    bounds: CallBounds,
    direct: DirectCall,
    request: () => Promise<CallToolResult>,
  ) {
    const page = await current();
    if (!LEAVES_PAGE.has(name) && upstreamTabOf(page).modalStates().length > 0) return request();
    const fromUrl = page.url();
    const firstMs = firstChangeMs(name);
    const result = await workOnPage(page, guard, { ...bounds, interrupted: dialogOpened }, async (page, inTime) => {
      const act = async () => Promise.race([direct(page, inTime), ended(inTime)]);
      const unless = (outcome?: CallToolResult) => outcome === undefined || outcome.isError === true;
      return (
        (await (firstMs === undefined
          ? act()
          : settled(page, act, { firstMs, unless, begins: BEGINS[name] ?? 'asks' }))) ?? { content: [] }
      );
    });
    const tellsPage = result.content.length === 0 || page.url() !== fromUrl;
    const isUnfit = FILLS_OR_SENDS.has(name) && !guard.showsDialog(page) && (await look(page))?.unfit === true;
    return withNotes(tellsPage ? { ...result, content: [...result.content, pageOf(page)] } : result, [
      ...chooserNotes(page),
      ...(isUnfit ? await unfitFields(page, { isGuarding }) : []),
    ]);
  }

  const { settled, challenge, look, begin } = settler(context, realClock.nowMs);
  const writer = snapshotWriter(context, text => conceal(text), look);
  const current = () => currentPage(context);
  const leaving = (signal: AbortSignal, leave: () => Promise<CallToolResult>) =>
    leavePage({ current, guard, connection, signal }, leave);
  const turn = turns();
  const first = AbortSignal.timeout(SNAPSHOT_MS);
  // Theirs: Playwright MCP makes its tabs at its own first call.
  await turn(first, () =>
    bounded('browser_snapshot', SNAPSHOT_MS / 1_000, first, () =>
      connection.request('browser_snapshot', {}, SNAPSHOT_MS, first),
    ),
  );
  return {
    tools,
    turn,
    call,
    settled,
    challenge,
    answeringTab() {
      const page = currentTab(context);
      return page !== undefined && guard.showsDialog(page) ? undefined : page;
    },
    show(wanted) {
      view = wanted;
      begin(wanted.snapshot === 'changes');
    },
    withSnapshot,
    onPage: (name, seconds, signal, work) =>
      bounded(name, seconds, signal, async () => {
        const run = async () => workOnPage(await current(), guard, { seconds, signal }, work);
        return LEAVES_PAGE.has(name) ? leaving(signal, run) : run();
      }),
    setSecrets(secrets, concealWith, guarding) {
      connection.setSecrets(secrets);
      conceal = concealWith;
      isGuarding = guarding;
    },
    incidents: guard.incidents,
    uploadsDir: join(filesDir, 'uploads'),
    showsContent: () => context.pages().some(page => page.url() !== 'about:blank'),
  };
}

/** After these the browser may keep a form back, which it says outside the page. */
const FILLS_OR_SENDS = new Set(['browser_click', 'browser_fill_form', 'browser_press_key', 'browser_type']);

const NAME_MISPLACED: Refusal = {
  code: 'name_misplaced',
  why: 'The name of a secret stands where it cannot be filled in.',
  instead: 'Give it as the whole text of browser_type, or as the value of one field of browser_fill_form.',
};

/** Runs pieces of work one after the other; one that is cancelled before it starts is skipped. */
function turns(): PlaywrightMcp['turn'] {
  let last: Promise<unknown> = Promise.resolve();
  return (signal, work) => {
    const mine = last.then(() => (signal.aborted ? CANCELLED : work()));
    last = mine;
    return mine;
  };
}

/** Of a call's seconds, for reading the page: it may have to be read twice. */
const READ_SHARE_MS = 400;

const BEGINS: Readonly<Record<string, SettleOptions<unknown>['begins']>> = {
  browser_evaluate: 'script',
  browser_press_key: 'input',
};

type CallBounds = Pick<Parameters<typeof workOnPage>[2], 'seconds' | 'signal'>;

/** In Playwright MCP's words: a title would have to be asked for. */
const pageOf = (page: Page) => ({ type: 'text' as const, text: `### Page\n- Page URL: ${page.url()}` });

const dialogOpened = (dialog: Dialog): CallToolResult => ({
  content: [
    {
      type: 'text',
      text: `There is a "${dialog.type()}" dialog with message "${dialog.message()}": answer it with browser_handle_dialog.`,
    },
  ],
});

/** Where Playwright MCP would put a secret's value for its name. */
const typedTexts = ({ text, fields }: Record<string, unknown>): unknown[] => [
  text,
  ...(Array.isArray(fields) ? fields.map((field: unknown) => Object(field).value) : []),
];
