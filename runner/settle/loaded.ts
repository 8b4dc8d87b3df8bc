import type { Frame, Request, Response } from 'playwright-core';

/** Left for another document, or a download: the page stays what it was. */
export const GIVEN_UP = 'net::ERR_ABORTED';

/** Resolves when the frame's document is loaded, or its body has ended before it was whole, which is never loaded; at the latest in `timeout` ms. */
export async function loadedOrBroken(frame: Frame, answer: Response | null, timeout: number): Promise<void> {
  const context = frame.page().context();
  const request = answer?.request();
  const { promise: brokeOff, resolve } = Promise.withResolvers<void>();
  const onFailed = (failed: Request) => {
    if (failed === request) resolve();
  };
  context.on('requestfailed', onFailed);
  try {
    if (request?.failure()) return;
    await Promise.race([frame.waitForLoadState('load', { timeout }).catch(() => undefined), brokeOff]);
  } finally {
    context.off('requestfailed', onFailed);
  }
}
