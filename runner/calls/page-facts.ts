import type { CallToolResult } from '@modelcontextprotocol/server';
import type { BrowserContext, Page } from 'playwright-core';
import { tabOfDocument } from '../browser/request-frame.ts';
import { textOf } from '../results/result.ts';

/** The page that a call leaves, for the timeline (A7). */
export interface PageFacts {
  readonly url: string;
  /** As the result has it: a page is not asked once more. */
  readonly title?: string;
  /** HTTP status of the document that came during the call. */
  readonly status?: number;
  /** The artifact with a picture of the page, or why there is none, where such pictures are kept. */
  readonly picture?: string;
  readonly picture_withheld?: string;
}

const TITLE_CHARACTERS_MAX = 300;

/** Follows the documents of a lease's tabs. `begin` is called before a call, the answer after it. */
export function pageFacts(context: BrowserContext) {
  let statuses = new Map<Page, number>();
  context.on('response', response => {
    const page = tabOfDocument(response.request());
    if (page !== undefined) statuses.set(page, response.status());
  });
  return {
    begin() {
      statuses = new Map();
    },
    of(page: Page, result: CallToolResult): PageFacts {
      const title = titleOf(textOf(result))?.slice(0, TITLE_CHARACTERS_MAX);
      const status = statuses.get(page);
      return { url: page.url(), ...(title ? { title } : {}), ...(status === undefined ? {} : { status }) };
    },
  };
}

/** The title in a result that is JSON, or in the head of a snapshot. */
function titleOf(text: string): string | undefined {
  if (!text.startsWith('{')) return /^- Page Title: (.*)$/m.exec(text)?.[1];
  try {
    const { title } = JSON.parse(text);
    return typeof title === 'string' ? title : undefined;
  } catch {
    return undefined;
  }
}
