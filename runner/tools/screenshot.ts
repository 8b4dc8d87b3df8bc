import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { refused } from '../../contract/tool-failure.ts';
import { captureVisible, type PictureType } from '../browser/visible-picture.ts';
import { isWithheld, type Pictures } from '../secrecy/pictures.ts';
import { defineTool } from './define-tool.ts';
import { invalidArguments, succeeded } from './result.ts';
import { existing } from './target.ts';

const SCREENSHOT_MS = 10_000;

type Picture = CallToolResult['content'][number] | { readonly withheld: string };

interface PictureOptions {
  readonly fullPage?: boolean;
  readonly type: PictureType;
  /** The element of which the picture is; left out: the page. */
  readonly of?: Locator;
}

/** A picture of the page without what holds a secret; undefined where it cannot be known that it shows none. */
async function pictureOf(
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
const HIDDEN =
  'What holds a credential is hidden. So are images and drawings that came after it on the same page: reload it to see them.';
const reasonOf = (withheld: string): string => `The picture was withheld: a credential was filled in, and ${withheld}.`;

/** A picture of the page for a result, or why there is none. */
export async function screenshotPart(page: Page, pictures: Pictures): Promise<Picture> {
  const picture = await pictureOf(page, pictures, { type: 'png' });
  return 'withheld' in picture ? { withheld: `${reasonOf(picture.withheld)} ${INSTEAD}` } : picture;
}

const withheldResult = (withheld: string): CallToolResult =>
  refused({ code: 'picture_withheld', why: reasonOf(withheld), instead: INSTEAD });

export const screenshot = defineTool({
  name: 'browser_screenshot',
  title: 'Take a screenshot',
  does: 'reads',
  description: 'Take a screenshot of the current page, or of all of it',
  seconds: 30,
  input: {
    fullPage: z.boolean().default(false).describe('Also what lies below the visible part'),
    imageText: z.boolean().optional().describe('The picture as base64 in the text too, as "image"'),
  },
  compatible: true,
  output: { mimeType: z.string().optional(), image: z.string().optional() },
  async run({ fullPage }, { page, lease: { pictures } }) {
    const picture = await pictureOf(page, pictures, { fullPage, type: 'png' });
    if ('withheld' in picture) return withheldResult(picture.withheld);
    const { content } = await succeeded(page, { mimeType: 'image/png' });
    return { content: [...content, picture] };
  },
});

/**
 * The result with its picture in its text as well, as clients of other servers read it: `{"image": base64}` (P1). For the last step
 * before a result leaves: what cuts texts and looks for secrets in them has nothing to do with a picture.
 */
export function withImageText(result: CallToolResult): CallToolResult {
  const [first, ...rest] = result.content;
  const picture = rest.find(part => part.type === 'image');
  if (result.isError || first?.type !== 'text' || picture === undefined) return result;
  const text = JSON.stringify({ ...JSON.parse(first.text), image: picture.data });
  return { ...result, content: [{ ...first, text }, ...rest] };
}

const takeArguments = z.object({
  type: z.enum(['png', 'jpeg', 'webp']).optional(),
  fullPage: z.boolean().optional(),
  target: z.string().optional(),
});

/** Playwright MCP's `browser_take_screenshot`, but that a picture is a JPEG where no other type is asked for. */
export async function takeScreenshot(
  page: Page,
  pictures: Pictures,
  args: Record<string, unknown>,
): Promise<CallToolResult> {
  const { type = 'jpeg', fullPage = false, target } = takeArguments.parse(args);
  if (fullPage && target !== undefined) return invalidArguments('fullPage cannot be used with element screenshots.');
  const of = target === undefined ? {} : { of: await existing(page, target) };
  const picture = await pictureOf(page, pictures, { fullPage, type, ...of });
  if ('withheld' in picture) return withheldResult(picture.withheld);
  return { content: pictures.isGuarding() ? [{ type: 'text', text: HIDDEN }, picture] : [picture] };
}
