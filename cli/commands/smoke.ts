import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { connectBrowser } from '../../local/mcp-browser.ts';
import { steps } from '../../local/steps.ts';
import { type Context, findController } from './connect.ts';
import { UsageError } from './exit.ts';
import type { Output } from './output.ts';
import { startHere } from './up.ts';

/** As much of the page's text as shows that it is there. */
const TEXT_CHARACTERS = 500;

/**
 * `smoke <url>` (S9): starts a session, goes to the page, extracts title and text, takes a screenshot, archives. On the
 * controller at hand, or on a stack of its own for this run. Throws what went wrong.
 */
export async function smoke(
  context: Context,
  out: Output,
  url: string,
  options: { screenshot?: string },
  print: (line: string) => void,
): Promise<void> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`"${url}" is not an http(s) URL.`);
  const { step, done } = steps(print);
  const screenshot = resolve(options.screenshot ?? join(context.folder, 'smoke.png'));
  const existing = await findController(context);
  const stack = existing ? null : await step('stack.start', () => startHere(context));
  const connection = existing ?? stack;
  if (!connection) throw new Error('there is no controller');
  try {
    const sessions = new BrowserSessions(connection);
    const userId = 'omicron-browser-smoke';
    const { lease, browser } = await step('session.start', async () => {
      const lease = await sessions.acquire({
        userId,
        conversationId: crypto.randomUUID(),
        recordVideo: false,
        signal: context.signal,
      });
      return { lease, browser: await connectBrowser(lease) };
    });
    try {
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
        const { images } = await browser.call('browser_take_screenshot');
        if (!images[0]) throw new Error('browser_take_screenshot answered without a picture');
        await mkdir(dirname(screenshot), { recursive: true });
        await writeFile(screenshot, images[0]);
        say(screenshot);
      });
      await step('session.archive', () => sessions.archive(lease.sessionId, { userId }));
      const seen = { url, title, text: text.slice(0, TEXT_CHARACTERS), screenshot, session_id: lease.sessionId };
      out.fields({ ...seen, steps: done.map(({ name, ms }) => ({ name, ms })) });
    } catch (error) {
      await sessions.archive(lease.sessionId, { userId }).catch(() => {}); // what failed before says more
      throw error;
    } finally {
      await browser[Symbol.asyncDispose]();
    }
  } finally {
    if (stack) await step('stack.stop', () => stack.stop());
  }
}
