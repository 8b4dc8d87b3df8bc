import type { BrowserContext, Page } from 'playwright-core';
import { shownAddress } from '../../browser/shown.ts';
import { frameOf } from '../../settle/requests.ts';

/** Documents that did not come, for the results of calls. */
export interface FailedDocuments {
  /** Since it was last asked: of each tab that shows the browser's own error page, what it is that failed, and why. */
  take(): string[];
}

/** Chromium shows its own page instead, which has neither the address nor a text that tools read. */
const ERROR_PAGE = 'chrome-error:';

/** Left for another document, or a download: the page stays what it was. */
const GIVEN_UP = 'net::ERR_ABORTED';

export function failedDocuments(context: BrowserContext): FailedDocuments {
  let failed = new Map<Page, string>();
  context.on('requestfailed', request => {
    const frame = request.isNavigationRequest() ? frameOf(request) : undefined;
    const page = frame?.page();
    if (page === undefined || frame !== page.mainFrame() || request.failure()?.errorText === GIVEN_UP) return;
    failed.set(page, `${shownAddress(request.url())} could not be loaded: ${request.failure()?.errorText}`);
  });
  return {
    take() {
      const notes = [...failed].filter(([page]) => page.url().startsWith(ERROR_PAGE)).map(([, note]) => note);
      failed = new Map();
      return notes;
    },
  };
}
