import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Toolset } from '../../contract/assignment.ts';
import { SHOW } from '../../contract/mcp-app.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type Refusal, refused } from '../../contract/tool-failure.ts';
import type { Clock } from '../../http/clock.ts';
import type { SecrecyRules } from '../secrecy/rules.ts';
import { click } from '../tools/click.ts';
import type { CustomTool, ToolContext, ToolLease } from '../tools/define-tool.ts';
import type { Elicitation } from '../tools/elicitation.ts';
import { evaluateInDocument } from '../tools/evaluate.ts';
import { listFiles, readFile } from '../tools/files.ts';
import { getContent } from '../tools/get-content.ts';
import { login } from '../tools/login.ts';
import { siteDomain } from '../tools/login-origins.ts';
import { navigate, open } from '../tools/navigate.ts';
import { tellingNewTabs } from '../tools/new-tabs.ts';
import { PROFILES } from '../tools/profiles.ts';
import { failed, normalised, timedOut } from '../tools/result.ts';
import { screenshot, takeScreenshot } from '../tools/screenshot.ts';
import { scroll } from '../tools/scroll.ts';
import { shown } from '../tools/show.ts';
import { fillAndSubmit, type } from '../tools/typing.ts';
import { requestUserAction } from '../tools/user-action.ts';
import { wait } from '../tools/wait.ts';
import { waitForText, waitsForText } from '../tools/wait-for-text.ts';
import { CANCELLED } from './bounds.ts';
import { tellingFileChooser } from './file-choosers.ts';
import { withoutFiles } from './files.ts';
import { fillMaybeSecrets, typeMaybeSecret } from './filling.ts';
import { CORE } from './listing.ts';
import type { PlaywrightMcp } from './playwright-mcp.ts';
import { filteredRequests } from './request-list.ts';
import { uploadByName } from './upload-by-name.ts';

/** One tool of a lease. */
export interface LeaseTool {
  readonly tool: Tool;
  /** False: it does not use the browser and does not wait for other calls. */
  readonly inTurn: boolean;
  /** Never rejects. */
  run(args: Record<string, unknown>, signal: AbortSignal, elicitation?: Elicitation): Promise<CallToolResult>;
  /** The arguments that a policy judges. */
  judged(args: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>>;
}

export interface ToolsetOptions {
  readonly playwright: PlaywrightMcp;
  readonly lease: ToolLease;
  readonly rules: SecrecyRules;
  readonly clock: Clock;
}

/** What an agent needs beside the compatible tools, and what means the same in both sets. */
const IN_EVERY_SET = ['browser_close', 'browser_file_upload', 'browser_handle_dialog', 'browser_tabs'];

function isServed(name: string, toolset: Toolset): boolean {
  if (toolset === 'core') return CORE.has(name);
  return toolset !== 'compat' || IN_EVERY_SET.includes(name);
}

const COMPATIBLE = [open, navigate, screenshot, click, type, getContent, scroll, wait, fillAndSubmit];

/**
 * The tools of a lease by name. A name that both sets have is one tool in `both`: Playwright MCP's, which takes the arguments of the
 * compatible one too. `docs/tools.md` has the table.
 */
export function leaseTools(toolset: Toolset, options: ToolsetOptions): ReadonlyMap<string, LeaseTool> {
  const { playwright, lease, rules, clock } = options;
  const pageTool = (custom: CustomTool) => onPage(custom, playwright, lease);
  const upstream = playwright.tools
    .filter(({ name }) => isServed(name, toolset))
    .map(tool => playwrightTool(tool, playwright, lease, rules))
    .map(
      tool =>
        ({ ...tool, run: async (args, signal) => withoutFiles(await tool.run(args, signal)) }) satisfies LeaseTool,
    );
  const always: LeaseTool[] = [
    { ...pageTool(login), judged: loginArguments(playwright) },
    {
      tool: requestUserAction.tool,
      inTurn: false,
      judged: async args => args,
      run: (args, signal, elicitation) => requestUserAction.run(args, { lease, signal, clock, elicitation }),
    },
    // The list for clients that show apps names it.
    { tool: SHOW as Tool, inTurn: false, judged: async args => args, run: async () => shown },
  ];
  const files = toolset === 'core' ? [] : [listFiles, readFile].map(custom => besidePage(custom, lease));
  const compatible = toolset === 'compat' || toolset === 'both' ? COMPATIBLE.map(pageTool) : [];
  const profiles = PROFILES.map(custom => besidePage(custom, lease));
  const all = [...compatible, ...always, ...files, ...profiles, ...upstream.map(tool => sideBySide(tool, compatible))];
  return new Map(all.map(each => [each.tool.name, each.inTurn ? ruled(each, playwright, lease, rules) : each]));
}

/** By these arguments a call is of the compatible tool, in a set that has both of a name: no other tool takes them. */
const OF_COMPATIBLE = ['selector', 'x', 'y', 'screenshot'];

/** A tool of Playwright MCP that also takes what the compatible one of its name takes. */
function sideBySide(tool: LeaseTool, compatible: readonly LeaseTool[]): LeaseTool {
  const other = compatible.find(each => each.tool.name === tool.tool.name);
  const own = other?.tool.inputSchema.properties ?? {};
  const added = Object.entries(own).filter(([name]) => OF_COMPATIBLE.includes(name));
  if (other === undefined || added.length === 0) return tool;
  const { properties, required = [], ...schema } = tool.tool.inputSchema;
  const needed = required.filter(name => other.tool.inputSchema.required?.includes(name));
  return {
    ...tool,
    tool: {
      ...tool.tool,
      inputSchema: {
        ...schema,
        properties: { ...properties, ...Object.fromEntries(added) },
        ...(needed.length > 0 ? { required: needed } : {}),
      },
    },
    run: (args, signal, elicitation) =>
      (OF_COMPATIBLE.some(name => args[name] !== undefined) ? other : tool).run(args, signal, elicitation),
  };
}

/** No tool that uses the browser runs where the rules refuse it. */
function ruled(tool: LeaseTool, playwright: PlaywrightMcp, { documents }: ToolLease, rules: SecrecyRules): LeaseTool {
  const { name } = tool.tool;
  return {
    ...tool,
    async run(args, signal) {
      if (!documents.isGuarding() || NEVER_REFUSED.has(name)) return tool.run(args, signal);
      const found: Refusal[] = [];
      const ask = () =>
        playwright.onPage(name, RULES_SECONDS, signal, async page => {
          const refusal = await rules.refusal(name, args, page);
          if (refusal !== undefined) found.push(refusal);
          return { content: [] };
        });
      const asked = await ask();
      const [before] = found;
      if (before !== undefined) return refused(before);
      if (asked.isError) return asked;
      const result = await tool.run(args, signal);
      if (!FILLING.has(name)) await ask();
      const [came] = found;
      return came === undefined ? result : refused({ ...came, why: `${came.why} ${CAME_MEANWHILE}` });
    },
  };
}
/** They end a dialog, behind which no page answers what it holds. */
const NEVER_REFUSED = new Set(['browser_close', 'browser_handle_dialog']);
/** They look for their targets before they fill, and taint the page themselves. */
const FILLING = new Set(['browser_fill_and_submit', 'browser_fill_form', 'browser_login', 'browser_type']);
const CAME_MEANWHILE = 'The page came while the call ran: what it did is done, what it found is not told.';
const RULES_SECONDS = 10;

const onPage = (
  { tool, seconds, run }: CustomTool,
  { settled, challenge, ...playwright }: PlaywrightMcp,
  lease: ToolLease,
): LeaseTool => ({
  tool,
  inTurn: true,
  judged: async args => args,
  run: async (args, signal) =>
    normalised(
      await playwright.onPage(tool.name, seconds, signal, (page, inTime) => {
        const work = () => run(args, { ...{ page, lease, signal: inTime }, settled, challenge });
        return tool.annotations?.readOnlyHint === true
          ? work()
          : tellingFileChooser(page, () => tellingNewTabs(page, work));
      }),
    ),
});

const besidePage = ({ tool, seconds, run }: CustomTool<ToolContext>, lease: ToolLease): LeaseTool => ({
  tool,
  inTurn: false,
  judged: async args => args,
  async run(args, signal) {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]);
    try {
      return await run(args, { lease, signal: inTime });
    } catch (error) {
      if (signal.aborted) return CANCELLED;
      return inTime.aborted
        ? timedOut(tool.name, seconds)
        : failed(
            error instanceof OmicronError ? error.code : 'action_failed',
            error instanceof Error ? error.message : String(error),
          );
    }
  },
});

/** A policy may name domains for logins: it judges the page's own, whatever the agent says. */
const loginArguments =
  (playwright: PlaywrightMcp): LeaseTool['judged'] =>
  async (args, signal) => {
    let domain = '';
    await playwright.onPage('browser_login', 10, signal, async page => {
      domain = siteDomain(page.url());
      return { content: [] };
    });
    return { ...args, domain };
  };

/** Playwright MCP's tools, but for what would let a secret out: it is never given one. */
function playwrightTool(tool: Tool, playwright: PlaywrightMcp, lease: ToolLease, rules: SecrecyRules): LeaseTool {
  const { pictures } = lease;
  const { name } = tool;
  const plain: LeaseTool = {
    tool,
    inTurn: true,
    judged: async args => args,
    run: (args, signal) => playwright.call(name, args, signal),
  };
  switch (name) {
    case 'browser_type':
      return { ...plain, run: (args, signal) => typeMaybeSecret(args, signal, playwright, lease) };
    case 'browser_fill_form':
      return { ...plain, run: (args, signal) => fillMaybeSecrets(args, signal, playwright, lease) };
    case 'browser_drop':
    case 'browser_file_upload':
      return { ...plain, run: (args, signal) => uploadByName(name, args, signal, playwright, lease.files) };
    case 'browser_evaluate':
      return { ...plain, run: (args, signal) => evaluate(args, signal, playwright, lease, rules) };
    case 'browser_network_requests':
      return {
        ...plain,
        run: (args, signal) => filteredRequests(args, given => playwright.call(name, given, signal), lease.conceal),
      };
    case 'browser_wait_for':
      return { ...plain, run: (args, signal) => waitFor(args, signal, playwright, lease) };
    case 'browser_take_screenshot':
      return {
        ...plain,
        run: (args, signal) => playwright.onPage(name, 30, signal, page => takeScreenshot(page, pictures, args)),
      };
    default:
      return plain;
  }
}

async function waitFor(
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  { documents, conceal }: ToolLease,
): Promise<CallToolResult> {
  const name = 'browser_wait_for';
  if (!documents.isGuarding() || !waitsForText(args)) return playwright.call(name, args, signal);
  const waited = await playwright.onPage(name, 45, signal, (page, inTime) => waitForText(page, args, conceal, inTime));
  return playwright.withSnapshot(waited, signal);
}

async function evaluate(
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  { documents, credentials }: ToolLease,
  rules: SecrecyRules,
): Promise<CallToolResult> {
  const name = 'browser_evaluate';
  if (documents.isGuarding())
    return playwright.onPage(name, 30, signal, page =>
      evaluateInDocument(page, documents, args, () => rules.refusal(name, args, page)),
    );
  if (credentials.names.length === 0) return playwright.call(name, args, signal);
  const marked = await playwright.onPage(name, 10, signal, async page => {
    documents.runsScript(page);
    return { content: [] };
  });
  return marked.isError ? marked : playwright.call(name, args, signal);
}
