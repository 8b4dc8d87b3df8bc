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

/** `page ...` (S2): the actions of an agent, by hand. */
export function pageCommands(program: Command, cli: Cli): void {
  const page = program
    .command('page')
    .description('act on the page of a live session, which is never started here; its toolset must be compat or both');
  const action = (name: string, description: string) =>
    page
      .command(name)
      .description(description)
      .option('--session <id>', 'session id')
      .option('--user <id>', 'user id')
      .option('--conversation <id>', 'conversation id');
  action('goto', 'go to a URL')
    .argument('<url>')
    // `browser_navigate` of the toolset both is Playwright MCP's.
    .action((url, name) => act(cli, name, 'browser_open', { url, screenshot: false }));
  action('extract', 'print what the page shows')
    .addOption(new Option('--mode <what>', 'what to print').choices(['text', 'title', 'html', 'links']).default('text'))
    .action((name: PageOptions & { mode: string }) =>
      act(cli, name, 'browser_get_content', { format: name.mode === 'title' ? 'text' : name.mode }, result =>
        name.mode === 'title' ? withoutContent(result) : result,
      ),
    );
  action('click', 'click an element')
    .argument('<selector>', 'CSS selector, or ref of a snapshot')
    .action((selector, name) => act(cli, name, 'browser_click', { selector }));
  action('type', 'type a text into a field, or the name of a credential')
    .argument('<selector>', 'CSS selector, or ref of a snapshot')
    .argument('<text>')
    .action((selector, text, name) => act(cli, name, 'browser_type', { selector, text }));
  action('wait-for', 'wait until an element is visible')
    .argument('<selector>', 'CSS selector')
    .option('--timeout <seconds>', 'maximum wait (default 10)', parseSeconds)
    .action((selector, { timeout = 10, ...name }) => act(cli, name, 'browser_wait', { selector, ms: timeout * 1000 }));
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

/** Prints the result of one tool, as it is. A tool that fails sets the exit code. */
async function act(
  cli: Cli,
  options: PageOptions,
  tool: string,
  args: Record<string, unknown>,
  shown = (result: PageResult) => result,
): Promise<void> {
  const called = await call(cli, options, tool, args);
  const result = resultOf(called);
  if (!result.success) cli.exitCode = EXIT.failed;
  cli.out.fields(result.success ? shown(result) : result);
}

async function takeScreenshot(cli: Cli, options: PageOptions, file: string, fullPage: boolean): Promise<void> {
  const called = await call(cli, options, 'browser_screenshot', { fullPage });
  const result = resultOf(called);
  const picture = called.content.find(({ type }) => type === 'image')?.data;
  if (picture === undefined) {
    cli.exitCode = EXIT.failed;
    return cli.out.fields(result);
  }
  const path = resolve(file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, Buffer.from(picture, 'base64'));
  cli.out.fields({ ...result, file: path });
}

/** What a compatible tool answers; anything else is told as its text. */
function resultOf({ text, isError }: ToolResult): PageResult {
  try {
    return pageResult.parse(JSON.parse(text));
  } catch {
    return { success: !isError, text };
  }
}

async function call(
  cli: Cli,
  { session: id, user, conversation }: PageOptions,
  tool: string,
  args: Record<string, unknown>,
): Promise<ToolResult> {
  const sessions = await connectController(cli);
  await using browser = await connectLive(cli, sessions, sessionName(id, { user, conversation }));
  if (!browser.tools.some(({ name }) => name === 'browser_get_content'))
    throw new OmicronError(
      'invalid_request',
      'This lease does not serve the compatible tools; start it with --toolset both.',
    );
  return await browser.callTool(tool, args, { signal: cli.signal });
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
