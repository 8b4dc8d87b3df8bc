import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { type Refusal, refusalResult } from '../../contract/tool-failure.ts';
import { within } from '../../time/within.ts';
import { unfitFields } from '../acting/unfit-fields.ts';
import { refusedUrl } from '../browser/addresses.ts';
import { describeAnswered, describeDialog, type OpenDialog } from '../browser/dialogs.ts';
import { textResult, withNotes } from '../results/result.ts';
import type { ToolDefinition } from '../tools/define-tool.ts';
import type { BrowserCall, PageAction, PlaywrightForm } from '../tools/playwright-form.ts';
import type { ToolLease } from '../tools/tool-lease.ts';
import { passedArguments, typedTexts } from '../upstream/arguments.ts';
import { chooserNotes } from '../upstream/file-choosers.ts';
import { closeTabs, currentTab } from '../upstream/tabs.ts';
import { upstreamTabOf } from '../upstream/upstream-tab.ts';
import { dialogOpen, untilAborted, workOnPage } from './bounds.ts';
import type { BrowserParts } from './browser-work.ts';
import { settleAction } from './settle.ts';
import { addSnapshotAfter, readRecovering } from './snapshot-after.ts';

/** One call of a tool in its form of Playwright MCP's. */
export interface PlaywrightCall {
  readonly tool: Pick<ToolDefinition, 'name' | 'seconds' | 'effect'>;
  readonly form: PlaywrightForm;
  readonly lease: ToolLease;
  readonly signal: AbortSignal;
  /** Asks the rules of secrecy. */
  readonly refusal: (page: Page) => Promise<Refusal | undefined>;
}

/** Milliseconds of each second of a call for reading the page: it may have to be read twice. */
const READ_SHARE_MS = 400;

/** The browser for the code of a tool, in one call. Rejects as Playwright does; the call's bounds make results of that. */
export function browserCall(parts: BrowserParts, call: PlaywrightCall): BrowserCall {
  const { guard, connection, settler, writer } = parts;
  const { tool, form, lease, signal, refusal } = call;
  const { seconds } = tool;
  const leaving = (work: () => Promise<CallToolResult>) => parts.leaving(tool, signal, work);

  /** The result of an ordinary call, as the agent is given it. */
  const finish = async (result: CallToolResult): Promise<CallToolResult> => {
    if (result.isError) return parts.explained(tool.name, result);
    return form.snapshotAfter ? addSnapshotAfter(parts, result, signal) : result;
  };

  async function request(args: Record<string, unknown>): Promise<CallToolResult> {
    const asked = () => connection.request(tool.name, passedArguments(args), seconds * 1_000, signal);
    // A tool that changes nothing does not ask which page it acts on.
    if (typeof form.settles === 'string') return asked();
    const page = await parts.current();
    const held = await guard.dialogs.holding(page);
    // One of another tab is answered without Playwright MCP, which knows those of the current one.
    if (held !== undefined && (held.page !== page || form.answersDialogs !== true)) return dialogOpen(held, page);
    return settleAction(settler, form, page, asked, false);
  }

  /** Playwright MCP alone knows what a page with a dialog or a file chooser waits for: it is asked. */
  async function actOnPage(args: Record<string, unknown>, action: PageAction): Promise<CallToolResult> {
    const page = await parts.current();
    if (tool.effect !== 'leaves' && upstreamTabOf(page).modalStates().length > 0) return request(args);
    const fromUrl = page.url();
    const bounds = { seconds, signal, interrupted: dialogOpened };
    const result = await workOnPage(page, guard, bounds, async (page, inTime) => {
      const work = async () => Promise.race([action(page, inTime), untilAborted(inTime)]);
      return (await settleAction(settler, form, page, work, true)) ?? { content: [] };
    });
    const namesPage = result.content.length === 0 || page.url() !== fromUrl;
    // A call that only reads or moves its own way is not looked at.
    const look = typeof form.settles === 'string' || guard.showsDialog(page) ? undefined : await settler.look(page);
    const isUnfit = form.namesUnfitFields && look?.unfit === true;
    return withNotes(namesPage ? { ...result, content: [...result.content, pageSection(page)] } : result, [
      ...chooserNotes(page),
      ...comingNotes(settler.isBrokenOff(page), look?.loading === true),
      ...(isUnfit ? await unfitFields(page, { isGuarding: parts.isGuarding }) : []),
    ]);
  }

  const ask: BrowserCall['ask'] = async args =>
    refusedBefore(parts, args) ?? finish(await leaving(() => request(args)));

  const readOwn: BrowserCall['readOwn'] = reading =>
    readRecovering(parts, async () =>
      workOnPage(await parts.current(), guard, { seconds, signal }, (page, inTime) =>
        reading(writer, page, { ...parts.view(), timeoutMs: seconds * READ_SHARE_MS }, inTime),
      ),
    );

  return {
    lease,
    signal,
    settled: settler.settled,
    refusal: page => refusal(page),
    ask,
    act: async (args, action) => refusedBefore(parts, args) ?? finish(await leaving(() => actOnPage(args, action))),
    async read(args, reading) {
      const view = parts.view();
      // Playwright MCP reads one element without the rest of its page, which would reveal a secret in pieces.
      const isPart = parts.isGuarding() && args.target !== undefined;
      return view.snapshot === 'playwright' && !isPart ? ask(args) : readOwn(reading);
    },
    readOwn,
    matches: (texts, pattern) => parts.patterns.run('matches', { texts, pattern }, signal),
    async answerElsewhere(answer) {
      const page = await parts.current();
      const own = guard.dialogs.of(page);
      // One that opened before its page was known here is unknown there.
      const isKnown = upstreamTabOf(page)
        .modalStates()
        .some(({ type }) => type === 'dialog');
      const open = own === undefined ? guard.dialogs.all()[0] : isKnown ? undefined : own;
      if (open === undefined) return undefined;
      const said = describeAnswered(open, page.context().pages());
      const answered = async () => {
        await within(answer(open.dialog), seconds * 1_000);
        return textResult(said);
      };
      return finish(await settleAction(settler, form, page, answered, false));
    },
    onPage: (work, workSeconds = seconds) =>
      leaving(async () => workOnPage(await parts.current(), guard, { seconds: workSeconds, signal }, work)),
    withSnapshot: result => addSnapshotAfter(parts, result, signal),
    tabs: { isFull: guard.isFull, closeAll: () => closeTabs(parts.context, guard, tool) },
  };
}

const STILL_LOADING = 'The page is still loading: what is shown is what has come so far.';
const BROKE_OFF = 'The document of the page broke off on its way: what is shown is what has come of it.';

function comingNotes(isBrokenOff: boolean, isLoading: boolean): string[] {
  if (isBrokenOff) return [BROKE_OFF];
  return isLoading ? [STILL_LOADING] : [];
}

/** Why a call is neither passed on to Playwright MCP nor run in its place; undefined: it is. */
function refusedBefore(
  { connection, context }: Pick<BrowserParts, 'connection' | 'context'>,
  args: Record<string, unknown>,
): CallToolResult | undefined {
  const closed = typeof args.url === 'string' ? refusedUrl(args.url, currentTab(context)?.url()) : undefined;
  if (closed !== undefined) return refusalResult(closed);
  // It would type the value, into a page of any origin.
  return typedTexts(args).some(connection.isSecretName) ? refusalResult(NAME_MISPLACED) : undefined;
}

const NAME_MISPLACED: Refusal = {
  code: 'name_misplaced',
  why: 'The name of a secret stands where it cannot be filled in.',
  instead: 'Give it as the whole text of browser_type, or as the value of one field of browser_fill_form.',
};

/** In Playwright MCP's words: a title would have to be asked for. */
const pageSection = (page: Page) => ({ type: 'text' as const, text: `### Page\n- Page URL: ${page.url()}` });

const dialogOpened = (held: OpenDialog, page: Page): CallToolResult =>
  textResult(
    held.page === page
      ? `There is a "${held.dialog.type()}" dialog with message "${held.dialog.message()}": answer it with browser_handle_dialog.`
      : describeDialog(held, page.context().pages()),
  );
