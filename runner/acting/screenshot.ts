import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Locator, Page } from 'playwright-core';
import { refusalResult } from '../../contract/tool-failure.ts';
import { captureVisible, type PictureType } from '../browser/visible-picture.ts';
import { isWithheld, type Pictures, type Withheld } from '../secrecy/pictures.ts';
import { type Area, largeArea, noteOn, partsOf } from './picture-parts.ts';

const SCREENSHOT_MS = 10_000;

type Picture = CallToolResult['content'][number] | Withheld;

interface PictureOptions {
  readonly fullPage?: boolean;
  readonly type: PictureType;
  /** The element of which the picture is; left out: the page. */
  readonly of?: Locator;
}

/** Pictures of one call; `note` where they are parts of one that is too large. */
interface PictureParts {
  readonly content: CallToolResult['content'];
  readonly note?: string;
}

/**
 * A picture of the page without what holds a secret, in parts where a side is longer than models take; `withheld` where it cannot be known
 * that it shows none.
 */
export async function picturesOf(
  page: Page,
  pictures: Pictures,
  { fullPage = false, type, of }: PictureOptions,
): Promise<PictureParts | Withheld> {
  // A style that hides the caret would be a change of the page between the looks at it.
  const options = { type, scale: 'css', caret: 'initial', timeout: SCREENSHOT_MS } as const;
  const area = fullPage || of !== undefined ? await largeArea(page, of) : undefined;
  const parts = area && partsOf(area);
  const taken = await pictures.take(page, async () => {
    if (parts !== undefined) return shootParts(parts, clip => page.screenshot({ ...options, fullPage: true, clip }));
    if (of !== undefined) return [await of.screenshot(options)];
    return [await (fullPage ? page.screenshot({ ...options, fullPage }) : captureVisible(page, type, SCREENSHOT_MS))];
  });
  if (isWithheld(taken)) return taken;
  if (taken.some(({ length }) => length === 0)) throw new Error('The browser made an empty picture of it.');
  const content = taken.map(bytes => ({
    type: 'image' as const,
    data: bytes.toString('base64'),
    mimeType: `image/${type}`,
  }));
  return area === undefined || parts === undefined ? { content } : { content, note: noteOn(area, parts) };
}

/** One picture of what the page shows. */
async function pictureOf(page: Page, pictures: Pictures, type: PictureType): Promise<Picture> {
  const taken = await picturesOf(page, pictures, { type });
  if ('withheld' in taken) return taken;
  const [picture] = taken.content;
  if (picture === undefined) throw new Error('There is no picture.');
  return picture;
}

async function shootParts(parts: readonly Area[], shoot: (part: Area) => Promise<Buffer>): Promise<Buffer[]> {
  const taken: Buffer[] = [];
  for (const part of parts) taken.push(await shoot(part));
  return taken;
}

const INSTEAD =
  'Submit the form, then reload or leave the page; browser_snapshot and browser_get_content show it meanwhile.';
const reasonOf = (withheld: string): string => `The picture was withheld: a credential was filled in, and ${withheld}.`;

/** A picture of the page for a result, or why there is none. */
export async function screenshotPart(page: Page, pictures: Pictures): Promise<Picture> {
  const picture = await pictureOf(page, pictures, 'png');
  return 'withheld' in picture ? { withheld: `${reasonOf(picture.withheld)} ${INSTEAD}` } : picture;
}

/** The result that says why there is no picture. */
export const withheldPicture = (withheld: string): CallToolResult =>
  refusalResult({ code: 'picture_withheld', why: reasonOf(withheld), instead: INSTEAD });
