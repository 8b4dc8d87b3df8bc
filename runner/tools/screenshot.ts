import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { defineTool } from './define-tool.ts';
import { succeeded } from './result.ts';
import { SECRET_FIELDS } from './secret-field.ts';
import { locate } from './target.ts';

const SCREENSHOT_MS = 10_000;

/** Fields that hold a secret, in every frame: drawn over. */
const masks = (page: Page): Locator[] => page.frames().map(frame => frame.locator(SECRET_FIELDS));

/** A picture of the page without the fields that hold a secret. */
export async function screenshotPart(
  page: Page,
  { fullPage = false, type = 'png' }: { fullPage?: boolean; type?: 'png' | 'jpeg' } = {},
): Promise<CallToolResult['content'][number]> {
  const picture = await page.screenshot({ fullPage, type, scale: 'css', mask: masks(page), timeout: SCREENSHOT_MS });
  return { type: 'image', data: picture.toString('base64'), mimeType: `image/${type}` };
}

export const screenshot = defineTool({
  name: 'browser_screenshot',
  description: 'Take a screenshot of the current page, or of all of it',
  seconds: 30,
  input: { fullPage: z.boolean().default(false).describe('Also what lies below the visible part') },
  async run({ fullPage }, { page }) {
    const picture = await screenshotPart(page, { fullPage });
    const { content } = await succeeded(page, { mimeType: 'image/png' });
    return { content: [...content, picture] };
  },
});

const takeArguments = z.object({
  type: z.enum(['png', 'jpeg', 'webp']).optional(),
  fullPage: z.boolean().optional(),
  target: z.string().optional(),
});

/** Playwright MCP's own screenshot cannot mask; while a field holds a secret, this stands in for it. */
export async function maskedTakeScreenshot(page: Page, args: Record<string, unknown>): Promise<CallToolResult> {
  const { type: asked = 'png', fullPage = false, target } = takeArguments.parse(args);
  const type = asked === 'webp' ? 'png' : asked;
  const note = { type: 'text' as const, text: 'Fields that hold a secret are drawn over.' };
  if (target === undefined) return { content: [note, await screenshotPart(page, { fullPage, type })] };
  const picture = await locate(page, target).screenshot({
    type,
    scale: 'css',
    mask: masks(page),
    timeout: SCREENSHOT_MS,
  });
  return { content: [note, { type: 'image', data: picture.toString('base64'), mimeType: `image/${type}` }] };
}
