import type { BrowserContext } from 'playwright-core';
import { OmicronError } from '../../contract/problem.ts';
import type { ProfileCheck, ProfileCheckRequest } from '../../contract/profile.ts';

const LOAD_MS = 15_000;
/** A page that is written by scripts shows who is logged in after it was loaded. */
const SHOWN_MS = 5_000;

/** Opens the page in a tab of its own, and looks for what it shows to who is logged in. */
export async function checkLoginPage(
  context: BrowserContext,
  { url, selector, text = '' }: ProfileCheckRequest,
): Promise<ProfileCheck> {
  const page = await context.newPage();
  try {
    const target = selector === undefined ? page.getByText(text) : page.locator(selector);
    await target.count().catch(cause => {
      throw new OmicronError('invalid_request', `"${selector}" is no selector.`, { cause });
    });
    const isShown = await page.goto(url, { timeout: LOAD_MS }).then(
      () => true,
      () => false,
    );
    if (!isShown) return { logged_in: null, url };
    const logged_in = await target
      .first()
      .waitFor({ timeout: SHOWN_MS })
      .then(
        () => true,
        () => false,
      );
    return { logged_in, url: page.url() };
  } finally {
    await page.close();
  }
}
