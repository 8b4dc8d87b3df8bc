import { setTimeout as delay } from 'node:timers/promises';
import type { Frame, Page, Request } from 'playwright-core';

/** A click's own navigation starts in this time. */
const STARTS_MS = 300;
const COMMIT_MS = 8_000;
const LOAD_MS = 5_000;

/** Runs an action and, where it makes the page navigate, waits for the new one. Rejects as the action does. */
export async function settled(page: Page, action: () => Promise<unknown>): Promise<void> {
  let leaving = false;
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const onRequest = (request: Request) => {
    if (request.isNavigationRequest() && request.resourceType() === 'document' && isMain(page, request)) leaving = true;
  };
  const onNavigated = (frame: Frame) => {
    if (leaving && frame === page.mainFrame()) resolve();
  };
  // A download or an empty answer leaves the page where it is.
  const onFailed = (request: Request) => {
    if (leaving && request.isNavigationRequest()) resolve();
  };
  page.on('request', onRequest).on('framenavigated', onNavigated).on('requestfailed', onFailed);
  try {
    await action();
    await delay(STARTS_MS);
    if (!leaving) return;
    await Promise.race([arrived, delay(COMMIT_MS, undefined, { ref: false })]);
    await page.waitForLoadState('load', { timeout: LOAD_MS }).catch(() => undefined);
  } finally {
    page.off('request', onRequest).off('framenavigated', onNavigated).off('requestfailed', onFailed);
  }
}

/** The frame of a navigation that is not there yet cannot be determined: then it counts as the page's. */
function isMain(page: Page, request: Request): boolean {
  try {
    return request.frame() === page.mainFrame();
  } catch {
    return true;
  }
}
