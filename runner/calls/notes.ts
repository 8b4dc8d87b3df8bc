import type { CallToolResult } from '@modelcontextprotocol/server';
import { CODE_META, refusalResult } from '../../contract/tool-failure.ts';
import { describeDialog } from '../browser/dialogs.ts';
import { oneLine } from '../browser/page-text.ts';
import { refusedOnTheWayOut, refusedPage } from '../browser/refused-on-the-way-out.ts';
import { textOf, withNotes } from '../results/result.ts';
import { onlyReads } from '../tools/define-tool.ts';
import { currentTab } from '../upstream/tabs.ts';
import type { BrowserParts } from './browser-work.ts';
import type { CallLease } from './call-lease.ts';
import type { LeaseTool } from './lease-tools.ts';
import { failedDocuments } from './notes/failed-documents.ts';
import { refusedDocuments } from './notes/refused-documents.ts';
import { pageFacts } from './page-facts.ts';
import { admittedOf, type Call, type Stage } from './stage.ts';

type NotesLease = Pick<
  CallLease,
  'browser' | 'pages' | 'messages' | 'arrivals' | 'challenges' | 'outside' | 'logins' | 'forwarder'
>;

/** Adds to the answer what happened beside it, and keeps for the timeline which page the call leaves. */
export function notes(lease: NotesLease): Stage {
  const { browser, pages, arrivals } = lease;
  const { context } = browser.parts;
  const facts = pageFacts(context);
  const failures = failedDocuments(context);
  const refusals = lease.forwarder?.refusals ?? [];
  const documents = refusedDocuments(context, refusals);
  return async (call, next) => {
    const { tool, view } = admittedOf(call);
    const startMs = Date.now();
    if (tool.usesPage) {
      browser.show(view);
      facts.begin();
    }
    if (tool.definition.effect === 'closes') await pages.beforeClosing();
    const answer = await next();
    const tab = tool.usesPage ? currentTab(context) : undefined;
    const refusal = tab && mayLead(call, answer) ? documents.of(tab, startMs) : undefined;
    const result = refusal === undefined ? answer : refusalResult(refusedPage(refusal));
    const before = await notesOfPage(tool, result, lease);
    const { notes: downloaded, links } = arrivals.take();
    // A failed navigation says it in its own words.
    const failed = tool.usesPage ? failures.take(result.isError === true) : [];
    const added = [
      ...before.challenged,
      ...failed,
      ...(tool.usesPage ? [...lease.logins.take(), ...lease.outside.take()] : []),
      ...refusedOnTheWayOut(
        refusals.filter(each => each.authority !== refusal?.authority),
        startMs,
      ),
      ...browser.parts.guard.incidents.takeNotes(),
      ...browser.parts.guard.awaited.takeNotes(),
      ...(tool.usesPage ? dialogsElsewhere(result, browser.parts) : []),
      ...downloaded,
      ...(before.written.length > 0 ? [['Console:', ...before.written].join('\n')] : []),
    ];
    // Each has its own line, whatever it quotes.
    const noted = withNotes(
      result,
      added.map(note => note.split('\n').map(oneLine).join('\n')),
    );
    if (tab !== undefined) call.page = { ...facts.of(tab, result), ...(await pages.afterCall()) };
    return { ...noted, content: [...noted.content, ...links] };
  };
}

/** Calls that may lead to a page, and have not failed for another reason: a refusal of the page is their failure. */
function mayLead(call: Call, { isError, _meta }: CallToolResult): boolean {
  const leads = !onlyReads(admittedOf(call).tool.definition.effect);
  return leads && (isError !== true || (_meta?.[CODE_META] ?? 'action_failed') === 'action_failed');
}

/** Dialogs of other tabs than the current one, which reports its own. */
function dialogsElsewhere(result: CallToolResult, { context, guard }: BrowserParts): string[] {
  const current = currentTab(context);
  const told = textOf(result).replaceAll('\\"', '"');
  return guard.dialogs
    .all()
    .filter(({ page }) => page === undefined || page !== current)
    .map(open => describeDialog(open, context.pages()))
    .filter(each => !told.includes(each));
}

/** Reading tools add no notes of the page, except that one may ask for its person once it was waited for. */
async function notesOfPage(
  { usesPage, definition: { effect } }: LeaseTool,
  result: CallToolResult,
  { challenges, messages }: Pick<NotesLease, 'challenges' | 'messages'>,
): Promise<{ readonly challenged: string[]; readonly written: string[] }> {
  const acts = usesPage && !onlyReads(effect);
  return {
    challenged: acts || effect === 'waits' ? await challenges(result) : [],
    written: acts ? await messages.take() : [],
  };
}
