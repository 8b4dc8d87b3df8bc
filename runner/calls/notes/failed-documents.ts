import type { BrowserContext, Request } from 'playwright-core';
import { tabOfDocument } from '../../browser/request-frame.ts';
import { shownAddress } from '../../browser/shown.ts';
import { networkFailure } from '../../results/network-failure.ts';
import { GIVEN_UP } from '../../settle/loaded.ts';

/** Documents that did not come, for the results of calls. */
export interface FailedDocuments {
  /**
   * Since it was last asked: of each tab that shows the browser's own error page, what it is that failed, and why. `isTold`: the address that
   * was asked for, and why it did not come, are known; what it led to is not.
   */
  take(isTold?: boolean): string[];
}

/** Chromium shows its own page instead, which has neither the address nor a text that tools read. */
const ERROR_PAGE = 'chrome-error:';

const FAILED_MAX = 50;

export function failedDocuments(context: BrowserContext): FailedDocuments {
  let failed: Request[] = [];
  context.on('requestfailed', request => {
    if (request.isNavigationRequest() && request.failure()?.errorText !== GIVEN_UP && failed.length < FAILED_MAX)
      failed.push(request);
  });
  return {
    take(isTold = false) {
      // The frame of a new tab is known only now.
      const byPage = new Map(failed.map(request => [tabOfDocument(request), request]));
      failed = [];
      return [...byPage].flatMap(([page, request]) => {
        if (page?.url().startsWith(ERROR_PAGE) !== true || (isTold && request.redirectedFrom() === null)) return [];
        const failure = request.failure()?.errorText ?? '';
        const { why, instead } = networkFailure(failure) ?? { why: failure, instead: '' };
        return [`${shownAddress(request.url())} could not be loaded. ${why} ${instead}`.trim()];
      });
    },
  };
}
