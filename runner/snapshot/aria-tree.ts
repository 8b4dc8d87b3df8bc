import { setTimeout as delay } from 'node:timers/promises';
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
  readonly level?: number;
  readonly pressed?: boolean | 'mixed';
  readonly selected?: boolean;
  readonly children?: readonly (AriaNode | string)[];
}

/** The page's elements with refs, which hold until the next snapshot. Rejects when the page does not answer in time. */
export async function ariaTree(page: Page, timeout: number, signal: AbortSignal): Promise<readonly AriaNode[]> {
  const done = new AbortController();
  const options = { mode: 'ai', timeout, signal: AbortSignal.any([signal, done.signal]) } as const;
  try {
    const tree = await Promise.race([page.ariaSnapshotJSON(options), treeWithoutBody(page, options)]);
    // Documented as a list of such nodes; of tens of thousands, a schema would take longer than the page.
    return tree as unknown as readonly AriaNode[];
  } finally {
    done.abort();
  }
}

type Options = NonNullable<Parameters<Page['ariaSnapshotJSON']>[0]>;

/** A page has a body by then, or is looked at for what it is. */
const BODY_MS = 300;
const OTHER_ROOT = ':root:not(html)';

/** An SVG picture has no body, for which Playwright waits. Resolves for such a document alone. */
async function treeWithoutBody(page: Page, options: Options): Promise<unknown> {
  const root = page.locator(OTHER_ROOT);
  const isOther = async () => {
    await delay(BODY_MS, undefined, { signal: options.signal, ref: false });
    return (await root.count()) > 0;
  };
  return (await isOther().catch(() => false)) ? root.ariaSnapshotJSON(options) : new Promise(() => undefined);
}
