import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Locator, Page } from 'playwright-core';
import { refused } from '../../contract/tool-failure.ts';
import { captureVisible, type PictureType } from '../browser/visible-picture.ts';
import { isWithheld, type Pictures } from '../secrecy/pictures.ts';

const SCREENSHOT_MS = 10_000;

type Picture = CallToolResult['content'][number] | { readonly withheld: string };

interface PictureOptions {
  readonly fullPage?: boolean;
  readonly type: PictureType;
  /** The element of which the picture is; left out: the page. */
  readonly of?: Locator;
}

/** A picture of the page without what holds a secret; undefined where it cannot be known that it shows none. */
export async function pictureOf(
  page: Page,
  pictures: Pictures,
  { fullPage = false, type, of }: PictureOptions,
): Promise<Picture> {
  // A style that hides the caret would be a change of the page between the looks at it.
  const options = { type, scale: 'css', caret: 'initial', timeout: SCREENSHOT_MS } as const;
  const picture = await pictures.take(page, () => {
    if (of !== undefined) return of.screenshot(options);
    return fullPage ? page.screenshot({ ...options, fullPage }) : captureVisible(page, type, SCREENSHOT_MS);
  });
  if (isWithheld(picture)) return picture;
  return { type: 'image', data: picture.toString('base64'), mimeType: `image/${type}` };
}

const INSTEAD =
  'Submit the form, then reload or leave the page; browser_snapshot and browser_get_content show it meanwhile.';
const reasonOf = (withheld: string): string => `The picture was withheld: a credential was filled in, and ${withheld}.`;

/** A picture of the page for a result, or why there is none. */
export async function screenshotPart(page: Page, pictures: Pictures): Promise<Picture> {
  const picture = await pictureOf(page, pictures, { type: 'png' });
  return 'withheld' in picture ? { withheld: `${reasonOf(picture.withheld)} ${INSTEAD}` } : picture;
}

/** The result that says why there is no picture. */
export const withheldPicture = (withheld: string): CallToolResult =>
  refused({ code: 'picture_withheld', why: reasonOf(withheld), instead: INSTEAD });
