import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { BrowserContext } from 'playwright-core';
import * as z from 'zod';
import { SHOW_TOOL } from '../contract/app-names.ts';
import { SNAPSHOTS, type Snapshot } from '../contract/assignment.ts';
import { leaseEnded } from '../contract/lease-ended.ts';
import type { ToolVerdict } from '../contract/policy/tools.ts';
import { refused } from '../contract/tool-failure.ts';
import type { Clock } from '../http/clock.ts';
import type { EgressForwarder } from './browser/egress-forwarder.ts';
import { refusedOnTheWayOut } from './browser/refused-on-the-way-out.ts';
import { TOKENS_MAX, TOKENS_MIN } from './budget/fit.ts';
import { controlledTurn } from './live/controlled-turn.ts';
import type { LiveView } from './live/live-view.ts';
import type { Caller } from './mcp/caller.ts';
import type { challengeNotes } from './mcp/challenge-notes.ts';
import type { ConsoleMessages } from './mcp/console-messages.ts';
import type { Downloads } from './mcp/downloads.ts';
import { failedDocuments } from './mcp/failed-documents.ts';
import { type PageFacts, pageFacts } from './mcp/page-facts.ts';
import type { PlaywrightMcp } from './mcp/playwright-mcp.ts';
import { currentTab } from './mcp/tabs.ts';
import type { ToolPolicy } from './mcp/tool-policy.ts';
import type { LeaseTool } from './mcp/toolset.ts';
import type { KeptPages } from './pages/kept-pages.ts';
import type { LeaseClock } from './reporting/lease-clock.ts';
import { invalidArguments, withNotes } from './tools/result.ts';
import { unknownTool } from './tools/unknown-tool.ts';

/** The tools that the policy lets agents see. */
export const listed = (available: ReadonlyMap<string, LeaseTool>, policy: ToolPolicy): Tool[] =>
  [...available.values()].map(({ tool }) => tool).filter(({ name }) => name !== SHOW_TOOL && policy.lists(name));

type Call = (name: string, args: Record<string, unknown>, caller: Caller) => Promise<Done>;

/** What of a lease decides how its calls are run. */
export interface CallOptions {
  readonly context: BrowserContext;
  readonly playwright: PlaywrightMcp;
  readonly lifetime: LeaseClock;
  readonly policy: ToolPolicy;
  readonly snapshot: Snapshot;
  /** About how many tokens the text of an answer takes at most. */
  readonly tokensMax: number;
  readonly forwarder: EgressForwarder | undefined;
  readonly clock: Clock;
}

/** What calls need beside the lease's options. */
interface CallParts {
  readonly available: ReadonlyMap<string, LeaseTool>;
  readonly live: LiveView;
  readonly messages: ConsoleMessages;
  readonly arrivals: Downloads;
  readonly challenges: ReturnType<typeof challengeNotes>;
  readonly pages: KeptPages;
  /** Whether a call's `sessionId` is of this lease. */
  readonly isOwnName: (given: unknown) => boolean;
}

/** They only read, but a page has changed after them. */
const WAITS = new Set(['browser_wait', 'browser_wait_for']);

/** Runs calls one after the other, each judged by what holds when it starts. */
export function judgedCalls(
  options: CallOptions,
  { available, live, messages, arrivals, challenges, pages, isOwnName }: CallParts,
): Call {
  const { playwright, lifetime, policy, forwarder } = options;
  const { control } = live;
  const turn = controlledTurn({
    ...{ turn: playwright.turn, control, clock: options.clock, refusal: PERSON_HAS_CONTROL },
    afterPerson: result => withNotes(result, [PERSON_ACTED]),
  });
  const viewOfCall = views(options);
  /** Whether the model has seen web content in this lease. */
  let untrusted = false;
  const facts = pageFacts(options.context);
  const failures = failedDocuments(options.context);

  const judgeAndRun: Call = async (name, given, caller) => {
    const tool = available.get(name);
    if (lifetime.isOver()) return { result: leaseEnded(null) };
    if (tool === undefined) {
      const names = listed(available, policy).map(each => each.name);
      return { result: unknownTool(name, names) };
    }
    const { sessionId, snapshot, tokensMax, ...args } = given;
    if (!isOwnName(sessionId)) return { result: SESSION_MISMATCH };
    const view = viewOfCall.safeParse({ snapshot, tokensMax });
    if (view.error !== undefined) return { result: invalidArguments(z.prettifyError(view.error)) };
    const verdict = policy.decide(name, await tool.judged(given, caller.signal), untrusted);
    if (verdict.action === 'block') return { result: policyBlocked(verdict.reason), verdict };
    const startMs = Date.now();
    playwright.show(view.data);
    if (tool.inTurn) facts.begin();
    if (name === 'browser_close') await pages.beforeClosing();
    const result = await tool.run(args, caller.signal, caller.elicitation);
    untrusted ||= tool.inTurn && playwright.showsContent();
    const acts = tool.inTurn && tool.tool.annotations?.readOnlyHint !== true;
    const challenged = acts || WAITS.has(name) ? await challenges(result) : [];
    const written = acts ? await messages.take() : [];
    const { notes: downloaded, links } = arrivals.take();
    const failed = tool.inTurn ? failures.take() : [];
    const notes = [
      ...challenged,
      // A failed navigation says it in its own words.
      ...(result.isError ? [] : failed),
      ...refusedOnTheWayOut(forwarder?.refusals ?? [], startMs),
      ...playwright.incidents.takeNotes(),
      ...downloaded,
      ...(written.length > 0 ? [['Console:', ...written].join('\n')] : []),
    ];
    const noted = withNotes(result, notes);
    const tab = tool.inTurn ? currentTab(options.context) : undefined;
    const page = tab && { ...facts.of(tab, result), ...(await pages.afterCall()) };
    return { result: { ...noted, content: [...noted.content, ...links] }, tokensMax: view.data.tokensMax, page };
  };

  return async (name, args, caller) => {
    if (available.get(name)?.inTurn === false) return judgeAndRun(name, args, caller);
    let done: Done | undefined;
    const result = await turn(caller.signal, async () => {
      done = await judgeAndRun(name, args, caller);
      live.agentActed(name, currentTab(options.context));
      return done.result;
    });
    return { ...done, result };
  };
}

/** The outcome of a call; `verdict` where a policy blocked it. */
interface Done {
  readonly result: CallToolResult;
  readonly verdict?: ToolVerdict;
  /** What its answer may take, where the call was run. */
  readonly tokensMax?: number;
  readonly page?: PageFacts | undefined;
}

const policyBlocked = (why: string): CallToolResult =>
  refused({ code: 'policy_blocked', why, instead: 'Do not repeat this call: find another way, or ask the person.' });

const PERSON_HAS_CONTROL = refused({
  code: 'person_has_control',
  why: 'A person controls the browser; the call was not carried out.',
  instead: 'Try again after they give it back.',
});

const PERSON_ACTED =
  'A person acted on the page since the last call. What you know of it is old: take a snapshot first.';

export const SESSION_MISMATCH = refused({
  code: 'session_mismatch',
  why: 'This is the endpoint of another browser session.',
  instead:
    'Leave sessionId out, or send the session_id that came with this endpoint, or the name that its first call gave it.',
});

/** How a call wants its answer; what it does not say, its lease does. Once a lease: a schema takes longer to make than to use. */
const views = ({ snapshot, tokensMax }: Pick<CallOptions, 'snapshot' | 'tokensMax'>) =>
  z.object({
    snapshot: z.enum(SNAPSHOTS).default(snapshot),
    tokensMax: z.int().min(TOKENS_MIN).max(TOKENS_MAX).default(tokensMax),
  });
