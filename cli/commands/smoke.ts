import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { OmicronError } from '../../contract/problem.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import { steps } from '../../local/steps.ts';
import { type Cli, findController } from '../connect.ts';
import { UsageError } from '../exit.ts';
import { startLocalStack } from './up.ts';

/** How much of the page's text is shown. */
const TEXT_CHARACTERS = 500;

/**
 * `smoke <url>` (S9): starts a session, opens the page, extracts title and text, takes a screenshot and archives the session.
 * Uses the configured controller, or a local stack of its own for this run. Throws the error of the step that failed.
 */
export async function smoke(cli: Cli, url: string, options: { screenshot?: string }): Promise<void> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`"${url}" is not an http(s) URL.`);
  const { step, done } = steps(cli.progress);
  const screenshot = resolve(options.screenshot ?? join(cli.folder, 'smoke.png'));
  const existing = await findController(cli);
  const stack = existing ? null : await step('stack.start', () => startLocalStack(cli));
  const connection = existing ?? stack;
  if (!connection) throw new Error('no controller and no stack');
  try {
    const sessions = new BrowserSessions(connection);
    const userId = 'omicron-browser-smoke';
    const lease = await step('session.start', () =>
      sessions.acquire({
        userId,
        conversationId: crypto.randomUUID(),
        recordVideo: false,
        keepPages: 'none',
        signal: cli.signal,
      }),
    );
    try {
      await using browser = await step('session.connect', () => connectBrowser(lease));
      await step('page.goto', () => browser.goto(url));
      const title = await step('page.extract title', async say => {
        const found = String(await browser.evaluate('() => document.title'));
        say(found);
        return found;
      });
      const text = await step('page.extract text', async say => {
        const found = String(await browser.evaluate('() => document.body.innerText'));
        say(`${found.length} characters`);
        return found;
      });
      await step('page.screenshot', async say => {
        const { images } = await browser.call('browser_take_screenshot', { type: 'png' });
        if (!images[0]) throw new Error('browser_take_screenshot returned no image');
        await mkdir(dirname(screenshot), { recursive: true });
        await writeFile(screenshot, images[0]);
        say(screenshot);
      });
      await step('session.archive', () => sessions.archive(lease.sessionId, { userId }));
      cli.out.fields(
        { url, title, text: text.slice(0, TEXT_CHARACTERS), screenshot, session_id: lease.sessionId },
        { steps: done.map(({ name, ms }) => ({ name, ms })) },
      );
    } catch (error) {
      await sessions.archive(lease.sessionId, { userId }).catch(() => {}); // the first error is reported
      throw error;
    }
  } finally {
    if (stack) await step('stack.stop', () => stack.stop());
  }
}

async function connectBrowser(lease: Lease): Promise<McpBrowser> {
  try {
    return await connectMcpBrowser(lease);
  } catch (cause) {
    const at = new URL(lease.mcpUrl).host;
    const why = `The browser at ${at} does not answer: check that this machine reaches that address.`;
    throw new OmicronError('browser_unreachable', why, { cause });
  }
}
