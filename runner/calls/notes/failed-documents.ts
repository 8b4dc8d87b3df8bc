import type { BrowserContext, Page } from 'playwright-core';
import { shownAddress } from '../../browser/shown.ts';
import { GIVEN_UP } from '../../settle/loaded.ts';
import { tabOfDocument } from '../../settle/requests.ts';

/** Documents that did not come, for the results of calls. */
export interface FailedDocuments {
  /** Since it was last asked: of each tab that shows the browser's own error page, what it is that failed, and why. */
  take(): string[];
}

/** Chromium shows its own page instead, which has neither the address nor a text that tools read. */
const ERROR_PAGE = 'chrome-error:';

export function failedDocuments(context: BrowserContext): FailedDocuments {
  let failed = new Map<Page, string>();
  context.on('requestfailed', request => {
    const page = tabOfDocument(request);
    const why = request.failure()?.errorText;
    if (page === undefined || why === GIVEN_UP) return;
    failed.set(page, `${shownAddress(request.url())} could not be loaded: ${why}`);
  });
  return {
    take() {
      const notes = [...failed].filter(([page]) => page.url().startsWith(ERROR_PAGE)).map(([, note]) => note);
      failed = new Map();
      return notes;
    },
  };
}
