import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import type { Toolset } from '../../contract/assignment.ts';
import type { Clock } from '../../http/clock.ts';
import { click } from '../tools/click.ts';
import type { Credentials } from '../tools/credentials.ts';
import type { CustomTool, ToolLease } from '../tools/define-tool.ts';
import { getContent } from '../tools/get-content.ts';
import { login } from '../tools/login.ts';
import { siteDomain } from '../tools/login-origins.ts';
import { navigate, open } from '../tools/navigate.ts';
import { failure, normalised } from '../tools/result.ts';
import { maskedTakeScreenshot, screenshot } from '../tools/screenshot.ts';
import { scroll } from '../tools/scroll.ts';
import { settled } from '../tools/settle.ts';
import { locate } from '../tools/target.ts';
import { fillAndSubmit, type } from '../tools/typing.ts';
import { requestUserAction } from '../tools/user-action.ts';
import { wait } from '../tools/wait.ts';
import type { PlaywrightMcp } from './playwright-mcp.ts';

/** One tool of a lease. */
export interface LeaseTool {
  readonly tool: Tool;
  /** False: it does not use the browser and does not wait for other calls. */
  readonly inTurn: boolean;
  /** Never rejects. */
  run(args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  /** The arguments that a policy judges. */
  judged(args: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>>;
}

export interface ToolsetOptions {
  readonly playwright: PlaywrightMcp;
  readonly lease: ToolLease;
  readonly clock: Clock;
}

/** What an agent needs beside the compatible tools, and what means the same in both sets. */
const IN_EVERY_SET = ['browser_close', 'browser_handle_dialog'];

const COMPATIBLE = [open, navigate, screenshot, click, type, getContent, scroll, wait, fillAndSubmit];

/**
 * The tools of a lease by name. A name that both sets have means one thing: in `both` what Playwright MCP means by
 * it. `docs/tools.md` has the table.
 */
export function leaseTools(toolset: Toolset, options: ToolsetOptions): ReadonlyMap<string, LeaseTool> {
  const { playwright, lease, clock } = options;
  const pageTool = (custom: CustomTool) => onPage(custom, playwright, lease);
  const upstream = playwright.tools
    .filter(({ name }) => toolset !== 'compat' || IN_EVERY_SET.includes(name))
    .map(tool => playwrightTool(tool, playwright, lease.credentials));
  const always: LeaseTool[] = [
    { ...pageTool(login), judged: loginArguments(playwright) },
    {
      tool: requestUserAction.tool,
      inTurn: false,
      judged: async args => args,
      run: (args, signal) => requestUserAction.run(args, { lease, signal, clock }),
    },
  ];
  const all = [...(toolset === 'playwright' ? [] : COMPATIBLE.map(pageTool)), ...always, ...upstream];
  return new Map(all.map(each => [each.tool.name, each]));
}

const onPage = ({ tool, seconds, run }: CustomTool, playwright: PlaywrightMcp, lease: ToolLease): LeaseTool => ({
  tool,
  inTurn: true,
  judged: async args => args,
  run: async (args, signal) =>
    normalised(
      await playwright.onPage(tool.name, seconds, signal, (page, inTime) => run(args, { page, lease, signal: inTime })),
    ),
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
function playwrightTool(tool: Tool, playwright: PlaywrightMcp, credentials: Credentials): LeaseTool {
  const plain: LeaseTool = {
    tool,
    inTurn: true,
    judged: async args => args,
    run: (args, signal) => playwright.call(tool.name, args, signal),
  };
  switch (tool.name) {
    case 'browser_type':
      return { ...plain, run: (args, signal) => typeMaybeSecret(args, signal, playwright, credentials) };
    case 'browser_fill_form':
      return { ...plain, run: (args, signal) => fillMaybeSecrets(args, signal, playwright, credentials) };
    // A script reads the value; a search with a pattern can guess it letter by letter.
    case 'browser_evaluate':
    case 'browser_find':
      return {
        ...plain,
        run: async (args, signal) =>
          (await credentials.exposed('password', 'code')) ? SECRET_ON_PAGE : plain.run(args, signal),
      };
    // So does a copy of it, once the page shows it.
    case 'browser_press_key':
      return {
        ...plain,
        run: async (args, signal) =>
          isChord(args.key) && (await credentials.exposed('password', 'code'))
            ? SECRET_ON_PAGE
            : plain.run(args, signal),
      };
    case 'browser_take_screenshot':
      return {
        ...plain,
        run: async (args, signal) =>
          (await credentials.exposed('username', 'password', 'code'))
            ? playwright.onPage(tool.name, 30, signal, page => maskedTakeScreenshot(page, args))
            : plain.run(args, signal),
      };
    default:
      return plain;
  }
}

const isChord = (key: unknown): boolean => /.\+./.test(String(key));

const SECRET_ON_PAGE = failure(
  'secret_on_page: no script, search or key combination of yours runs while a field holds a password or a code. Submit or clear the ' +
    'form, or leave the page; browser_snapshot shows it meanwhile.',
);

const typeArguments = z.object({ target: z.string(), text: z.string(), submit: z.boolean().optional() });

async function typeMaybeSecret(
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  credentials: Credentials,
): Promise<CallToolResult> {
  const parsed = typeArguments.safeParse(args);
  if (!parsed.success || !credentials.isName(parsed.data.text)) return playwright.call('browser_type', args, signal);
  const { target, text, submit } = parsed.data;
  const result = await playwright.onPage('browser_type', 30, signal, async (page, inTime) => {
    const refused = await credentials.fill(page, target, text, inTime);
    if (refused !== undefined) return failure(`${refused.code}: ${refused.message}`);
    if (submit === true) await settled(page, () => locate(page, target).press('Enter', { timeout: 5_000 }));
    return { content: [{ type: 'text', text: `The value of ${text} was filled in.` }] };
  });
  return playwright.withSnapshot(result, signal);
}

const formArguments = z.object({ fields: z.array(z.looseObject({ target: z.string(), value: z.string() })) });

/** In the given order: fields with secrets by the runner, those between them by Playwright MCP. */
async function fillMaybeSecrets(
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  credentials: Credentials,
): Promise<CallToolResult> {
  const parsed = formArguments.safeParse(args);
  const fields = parsed.success ? parsed.data.fields : [];
  if (!fields.some(({ value }) => credentials.isName(value))) return playwright.call('browser_fill_form', args, signal);
  for (const field of fields) {
    const { target, value } = field;
    const result = credentials.isName(value)
      ? await typeMaybeSecret({ target, text: value }, signal, playwright, credentials)
      : await playwright.call('browser_fill_form', { fields: [field] }, signal);
    if (result.isError) return result;
  }
  const names = fields.map(({ value }) => value).filter(credentials.isName);
  const done = { content: [{ type: 'text' as const, text: `The form was filled in, with ${names.join(', ')}.` }] };
  return playwright.withSnapshot(done, signal);
}
