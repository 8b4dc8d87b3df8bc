import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { isWithheld, type Pictures } from '../secrecy/pictures.ts';
import { defineTool } from './define-tool.ts';
import { failed, succeeded } from './result.ts';
import { locate } from './target.ts';

const SCREENSHOT_MS = 10_000;

type Part = CallToolResult['content'][number];

interface PictureOptions {
  readonly fullPage?: boolean;
  readonly type?: 'png' | 'jpeg';
  /** The element of which the picture is; left out: the page. */
  readonly of?: Locator;
}

/** A picture of the page without what holds a secret; undefined where it cannot be known that it shows none. */
async function pictureOf(
  page: Page,
  pictures: Pictures,
  { fullPage = false, type = 'png', of }: PictureOptions,
): Promise<Part | { readonly withheld: string }> {
  // A style that hides the caret would be a change of the page between the looks at it.
  const options = { type, scale: 'css', caret: 'initial', timeout: SCREENSHOT_MS } as const;
  const picture = await pictures.take(page, () =>
    of === undefined ? page.screenshot({ ...options, fullPage }) : of.screenshot(options),
  );
  if (isWithheld(picture)) return picture;
  return { type: 'image', data: picture.toString('base64'), mimeType: `image/${type}` };
}

const INSTEAD =
  'Submit the form, then reload or leave the page; browser_snapshot and browser_get_content show it meanwhile.';
const HIDDEN =
  'What holds a credential is hidden. So are images and drawings that came after it on the same page: reload it to see them.';
const reasonOf = (withheld: string): string => `The picture was withheld: a credential was filled in, and ${withheld}.`;

/** A picture of the page for a result, or in its stead why there is none. */
export async function screenshotPart(page: Page, pictures: Pictures): Promise<Part> {
  const picture = await pictureOf(page, pictures, {});
  return 'withheld' in picture ? { type: 'text', text: `${reasonOf(picture.withheld)} ${INSTEAD}` } : picture;
}

const withheldResult = (withheld: string): CallToolResult => failed('picture_withheld', reasonOf(withheld), INSTEAD);

export const screenshot = defineTool({
  name: 'browser_screenshot',
  title: 'Take a screenshot',
  does: 'reads',
  description: 'Take a screenshot of the current page, or of all of it',
  seconds: 30,
  input: { fullPage: z.boolean().default(false).describe('Also what lies below the visible part') },
  async run({ fullPage }, { page, lease: { pictures } }) {
    const picture = await pictureOf(page, pictures, { fullPage });
    if ('withheld' in picture) return withheldResult(picture.withheld);
    const { content } = await succeeded(page, { mimeType: 'image/png' });
    return { content: [...content, picture] };
  },
});

const takeArguments = z.object({
  type: z.enum(['png', 'jpeg', 'webp']).optional(),
  fullPage: z.boolean().optional(),
  target: z.string().optional(),
});

/** Playwright MCP's own screenshot does not look before and after; once a value was filled in, this stands in for it. */
export async function guardedScreenshot(
  page: Page,
  pictures: Pictures,
  args: Record<string, unknown>,
): Promise<CallToolResult> {
  const { type: asked = 'png', fullPage = false, target } = takeArguments.parse(args);
  const type = asked === 'webp' ? 'png' : asked;
  const of = target === undefined ? {} : { of: locate(page, target) };
  const picture = await pictureOf(page, pictures, { fullPage, type, ...of });
  if ('withheld' in picture) return withheldResult(picture.withheld);
  return { content: [{ type: 'text', text: HIDDEN }, picture] };
}
