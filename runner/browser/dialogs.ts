import type { BrowserContext, Dialog, Page } from 'playwright-core';
import { within } from '../../time/within.ts';

/** A dialog that waits for its answer. */
export interface OpenDialog {
  readonly dialog: Dialog;
  /** Undefined: it opened before its tab was known. */
  readonly page: Page | undefined;
}

export interface OpenDialogs {
  /** Those that opened first come first. */
  all(): OpenDialog[];
  of(page: Page): OpenDialog | undefined;
  /**
   * The dialog that keeps a tab from answering: its own, or else one of another tab, since a dialog holds all tabs of its process. Undefined:
   * the tab answers.
   */
  holding(page: Page): Promise<OpenDialog | undefined>;
}

/** A tab that a dialog does not hold answers in this time. */
const ANSWER_MS = 700;

/** A page can ask with a text of any length. */
const MESSAGE_CHARACTERS_MAX = 1_000;

/** Follows the dialogs of all tabs of a context. */
export function followDialogs(context: BrowserContext): OpenDialogs {
  const open = new Map<Dialog, Page | undefined>();
  const all = () => {
    for (const [dialog, page] of open) if (page?.isClosed() === true) open.delete(dialog);
    return [...open].map(([dialog, page]) => ({ dialog, page }));
  };
  const of = (page: Page) => all().find(each => each.page === page);

  // A dialog of a page that still loads names no page; the next tab that comes is that page.
  context.on('dialog', dialog => open.set(dialog, dialog.page() ?? undefined));
  context.on('dialogclosed', dialog => open.delete(dialog));
  context.on('page', page => {
    const early = all().find(each => each.page === undefined);
    if (early !== undefined && of(page) === undefined) open.set(early.dialog, page);
  });

  return {
    all,
    of,
    async holding(page) {
      if (all().length === 0) return undefined;
      const own = of(page);
      if (own !== undefined) return own;
      const answered = await within(
        page.evaluate(() => true),
        ANSWER_MS,
      );
      return answered === true || page.isClosed() ? undefined : all()[0];
    },
  };
}

/** A dialog for an agent, with the tab that it is in. */
export const describeDialog = (open: OpenDialog, tabs: readonly Page[]): string =>
  `The ${nameDialog(open)} is open in ${nameTab(open, tabs)}: answer it with browser_handle_dialog.`;

export const describeAnswered = (open: OpenDialog, tabs: readonly Page[]): string =>
  `The ${nameDialog(open)} in ${nameTab(open, tabs)} was answered.`;

const nameDialog = ({ dialog }: OpenDialog): string => {
  const message = dialog.message();
  const shown = message.length > MESSAGE_CHARACTERS_MAX ? `${message.slice(0, MESSAGE_CHARACTERS_MAX)}…` : message;
  return `"${dialog.type()}" dialog with message "${shown}"`;
};

const nameTab = ({ page }: OpenDialog, tabs: readonly Page[]): string =>
  page === undefined ? 'a tab that is still opening' : `tab ${tabs.indexOf(page)} (${page.url()})`;
