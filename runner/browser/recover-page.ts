import type { BrowserContext, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import type { PageGuard } from './page-guard.ts';

const ANSWER_MS = 1_000;

/**
 * Frees what would block every later call: Playwright MCP asks each tab for its title in each call, and each frame for its part of a
 * snapshot. A document whose server is silent is given up; a script that never ends is stopped; a tab that still does not answer is closed; a
 * frame that never loaded (one at a blocked address, for example) is removed from its page. Returns what was done, for the agent. A tab that
 * shows a dialog is left alone, and so is every other that does not answer while one is open: a dialog holds all tabs of its process until
 * browser_handle_dialog.
 */
export async function recoverPages(context: BrowserContext, guard: PageGuard): Promise<string[]> {
  const notes = await Promise.all(context.pages().map(page => recoverPage(page, guard)));
  return notes.flat();
}

async function recoverPage(page: Page, guard: PageGuard): Promise<string[]> {
  if (guard.showsDialog(page)) return [];
  const isHeld = () => guard.dialogs.all().length > 0;
  await guard.awaited.arrived(page);
  if (await doesAnswer(page)) return isHeld() ? [] : removeDeadFrames(page);
  if (isHeld()) return [];
  await inTime(guard.stopScript(page));
  if (await doesAnswer(page)) return [`A script that did not end was stopped on ${page.url()}.`];
  await inTime(page.close());
  return [`The tab of ${page.url()} did not answer and was closed.`];
}

async function removeDeadFrames(page: Page): Promise<string[]> {
  const children = page.frames().filter(frame => frame.parentFrame() !== null);
  const notes = await Promise.all(
    children.map(async frame => {
      if ((await inTime(frame.evaluate(() => true))) === true) return undefined;
      await inTime(
        frame.frameElement().then(element => element.evaluate((frame: { remove(): void }) => frame.remove())),
      );
      return `A frame that did not load was removed from ${page.url()}.`;
    }),
  );
  return notes.filter(note => note !== undefined);
}

const inTime = <T>(work: Promise<T>): Promise<T | undefined> => within(work, ANSWER_MS);

const doesAnswer = async (page: Page): Promise<boolean> =>
  page.isClosed() || (await inTime(page.evaluate(() => true))) === true;
