import type { Page } from 'playwright-core';
import { contentOf, inTime } from '../acting/frames.ts';
import { captureVisible } from '../browser/visible-picture.ts';
import type { Conceal } from '../budget/cut.ts';
import type { Documents } from '../secrecy/documents.ts';
import type { Pictures, Withheld } from '../secrecy/pictures.ts';

/** How what is kept of a page is kept free of secrets. */
export interface PageSecrecy {
  readonly pictures: Pictures;
  readonly documents: Pick<Documents, 'isTainted'>;
  /** Takes secrets out of a text. */
  readonly conceal: Conceal;
}

/** Contents of a page, without secrets. */
export interface PageContent {
  readonly url: string;
  readonly title: string;
  readonly html: string | Withheld;
  readonly picture: Buffer | Withheld;
}

const PICTURE_MS = 2_000;
/** Characters of HTML: a text is searched for secrets as a whole, a quarter of a second for this many. */
const HTML_MAX = 500_000;
const TAINTED: Withheld = { withheld: 'the document may hold a password or a code' };
const NOT_SHOWN = '\n<!-- the rest is left out -->';

/** A JPEG of what the tab shows. Rejects where none can be taken in time. */
export const pictureOf = (page: Page, { pictures }: Pick<PageSecrecy, 'pictures'>): Promise<Buffer | Withheld> =>
  pictures.take(page, () => captureVisible(page, 'jpeg', PICTURE_MS));

/** Undefined: the page does not answer. */
export async function readPage(page: Page, secrecy: PageSecrecy): Promise<PageContent | undefined> {
  const { conceal } = secrecy;
  const [title, html, picture] = await Promise.all([
    inTime(page.title()),
    inTime(htmlOf(page, secrecy)),
    pictureOf(page, secrecy).catch(() => undefined),
  ]);
  if (title === undefined || html === undefined || picture === undefined) return undefined;
  return { url: await conceal(page.url()), title: await conceal(title), html, picture };
}

/** The HTML of a document that may hold a secret is not kept: there it could have any form. */
async function htmlOf(page: Page, { documents, conceal }: PageSecrecy): Promise<string | Withheld> {
  // Asked again after it was read: another document may have come meanwhile.
  const wasTainted = await documents.isTainted(page);
  const html = wasTainted ? '' : String(await contentOf(page.mainFrame(), 'html'));
  if (wasTainted || (await documents.isTainted(page))) return TAINTED;
  const kept = html.length > HTML_MAX ? `${html.slice(0, HTML_MAX)}${NOT_SHOWN}` : html;
  return conceal(kept);
}
