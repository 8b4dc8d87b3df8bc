import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import * as z from 'zod';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import type { ToolResult } from '../../client/mcp.ts';
import { OmicronError } from '../../contract/problem.ts';
import { parseSeconds } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';
import { EXIT } from '../exit.ts';
import { findSession, type SessionName, sessionName } from '../find-session.ts';
import { PAGE_CALLS, PAGE_FACTS, type PageCall } from '../page-calls.ts';

/** `page ...` (S2): the actions of an agent, by hand. */
export function pageCommands(program: Command, cli: Cli): void {
  const page = program.command('page').description('act on the page of a live session, which is never started here');
  const action = (name: string, description: string) =>
    page
      .command(name)
      .description(description)
      .option('--session <id>', 'session id')
      .option('--user <id>', 'user id')
      .option('--conversation <id>', 'conversation id');
  action('goto', 'go to a URL')
    .argument('<url>')
    .action((url, name) => act(cli, name, PAGE_CALLS.goto(url)));
  action('extract', 'print what the page shows')
    .addOption(new Option('--mode <what>', 'what to print').choices(['text', 'title', 'html', 'links']).default('text'))
    .action((name: PageOptions & { mode: string }) =>
      act(cli, name, PAGE_CALLS.extract(name.mode), result =>
        name.mode === 'title' ? withoutContent(result) : result,
      ),
    );
  action('click', 'click an element')
    .argument('<selector>', 'CSS selector, or ref of a snapshot')
    .action((selector, name) => act(cli, name, PAGE_CALLS.click(selector)));
  action('type', 'type a text into a field, or the name of a credential')
    .argument('<selector>', 'CSS selector, or ref of a snapshot')
    .argument('<text>')
    .action((selector, text, name) => act(cli, name, PAGE_CALLS.type(selector, text)));
  action('wait-for', 'wait until an element is visible')
    .argument('<selector>', 'CSS selector')
    .option('--timeout <seconds>', 'maximum wait (default 10)', parseSeconds)
    .action((selector, { timeout = 10, ...name }) => act(cli, name, PAGE_CALLS.waitFor(selector, timeout)));
  action('screenshot', 'write a picture of the page (PNG) to FILE')
    .argument('<file>')
    .option('--full-page', 'what lies below the visible part too')
    .action((file, { fullPage = false, ...name }) => takeScreenshot(cli, name, file, fullPage));
}

interface PageOptions extends Omit<SessionName, 'id'> {
  session?: string;
}

type PageResult = z.infer<typeof pageResult>;
const pageResult = z.looseObject({ success: z.boolean() });

const withoutContent = ({ success, url, title }: PageResult): PageResult => ({ success, url, title });

/** Prints the result of one call. A tool that fails sets the exit code. */
async function act(
  cli: Cli,
  options: PageOptions,
  call: PageCall,
  shown = (result: PageResult) => result,
): Promise<void> {
  await using browser = await connectPage(cli, options);
  const result = await resultOf(browser, call);
  if (!result.success) cli.exitCode = EXIT.failed;
  cli.out.fields(result.success ? shown(result) : result);
}

async function takeScreenshot(cli: Cli, options: PageOptions, file: string, fullPage: boolean): Promise<void> {
  await using browser = await connectPage(cli, options);
  const called = await browser.call(PAGE_CALLS.screenshot(fullPage));
  const picture = called.content.find(({ type }) => type === 'image')?.data;
  if (picture === undefined) {
    cli.exitCode = EXIT.failed;
    return cli.out.fields(compatResult(called));
  }
  const path = resolve(file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, Buffer.from(picture, 'base64'));
  cli.out.fields({ ...(browser.isCompat ? compatResult(called) : await pageFacts(browser)), file: path });
}

/** The page of a session: its connection, and the kind of its tools. */
interface PageConnection extends AsyncDisposable {
  readonly isCompat: boolean;
  call(call: PageCall): Promise<ToolResult>;
}

async function connectPage(cli: Cli, { session: id, user, conversation }: PageOptions): Promise<PageConnection> {
  const sessions = await connectController(cli);
  const browser = await connectLive(cli, sessions, sessionName(id, { user, conversation }));
  const isCompat = browser.tools.some(({ name }) => name === 'browser_get_content');
  return {
    isCompat,
    call({ compat, playwright }) {
      const { tool, args } = isCompat ? compat : playwright;
      return browser.callTool(tool, args, { signal: cli.signal });
    },
    [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
  };
}

/** The result as a compatible tool has it, whichever tool was called. */
async function resultOf(browser: PageConnection, call: PageCall): Promise<PageResult> {
  const called = await browser.call(call);
  if (browser.isCompat) return compatResult(called);
  if (called.isError) return { success: false, text: called.text };
  return call.playwright.args.function === undefined ? pageFacts(browser) : evaluatedResult(called, browser);
}

/** Address and title of the page. */
async function pageFacts(browser: PageConnection): Promise<PageResult> {
  const { text } = await browser.call({ compat: PAGE_FACTS, playwright: PAGE_FACTS });
  const [, title = '', url] = /^- \d+: \(current\) \[(.*)\]\((\S*)\)$/m.exec(text) ?? [];
  return { success: true, ...(url === undefined ? {} : { url, title }) };
}

async function evaluatedResult(called: ToolResult, browser: PageConnection): Promise<PageResult> {
  const fields = evaluatedFields(called);
  return fields === undefined ? pageFacts(browser) : { success: true, ...fields };
}

/** The object that a page function returned; undefined: it returned none. */
function evaluatedFields({ text }: ToolResult): Record<string, unknown> | undefined {
  try {
    return z
      .record(z.string(), z.unknown())
      .parse(JSON.parse(/### Result\n([\s\S]*?)(?:\n### |$)/.exec(text)?.[1] ?? ''));
  } catch {
    return undefined;
  }
}

/** A compatible tool's answer; anything else is printed as its text. */
function compatResult({ text, isError }: ToolResult): PageResult {
  try {
    return pageResult.parse(JSON.parse(text));
  } catch {
    return { success: !isError, text };
  }
}

/** The lease that the session has. Get-or-create, which alone hands its token out, would start another where that one ends just then. */
async function connectLive(cli: Cli, sessions: BrowserSessions, name: SessionName) {
  const session = await findSession(sessions, name);
  const over = () =>
    new OmicronError('lease_ended', `Session ${session.session_id} has no live browser; start it again.`);
  if (session.status !== 'ready') throw over();
  const lease = await sessions.acquire({
    userId: session.user_id,
    conversationId: session.conversation_id,
    recordVideo: session.record_video,
    ttlSeconds: session.ttl_seconds,
    waitSeconds: 0,
    signal: cli.signal,
  });
  if (lease.epoch === session.epoch) return lease.connect();
  await lease.end();
  throw over();
}
