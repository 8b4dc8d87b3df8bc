import type { Page } from 'playwright-core';

/**
 * An element of `page.ariaSnapshotJSON({mode: 'ai'})`; a string is a text between elements.
 * https://playwright.dev/docs/api/class-page#page-aria-snapshot-json
 */
export interface AriaNode {
  readonly role: string;
  readonly name?: string;
  /** Its text, or what a field holds. */
  readonly text?: string;
  readonly ref?: string;
  readonly cursor?: string;
  readonly active?: boolean;
  readonly url?: string;
  readonly placeholder?: string;
  readonly checked?: boolean | 'mixed';
  readonly disabled?: boolean;
  readonly expanded?: boolean;
  readonly invalid?: boolean | string;
  readonly pressed?: boolean | 'mixed';
  readonly selected?: boolean;
  readonly children?: readonly (AriaNode | string)[];
}

/** The page's elements with refs, which hold until the next snapshot. Rejects when the page does not answer in time. */
export const ariaTree = async (page: Page, timeoutMs: number, signal: AbortSignal): Promise<readonly AriaNode[]> =>
  // Documented as a list of such nodes; of tens of thousands, a schema would take longer than the page.
  (await page.ariaSnapshotJSON({ mode: 'ai', timeout: timeoutMs, signal })) as unknown as readonly AriaNode[];
