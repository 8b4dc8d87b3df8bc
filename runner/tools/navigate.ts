import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import { refused } from '../../contract/tool-failure.ts';
import { refusedUrl } from '../browser/addresses.ts';
import { defineTool, type ToolLease } from './define-tool.ts';
import { succeeded, withNotes } from './result.ts';
import { screenshotPart } from './screenshot.ts';

const NAVIGATION_MS = 30_000;
const LOAD_MS = 5_000;

/**
 * Goes there as Playwright MCP does: what is no URL gets https:// put before it. Resolves with a refusal or nothing.
 */
async function goTo(page: Page, text: string): Promise<CallToolResult | undefined> {
  const url = URL.canParse(text) ? text : `${text.startsWith('localhost') ? 'http' : 'https'}://${text}`;
  const closed = refusedUrl(url);
  if (closed !== undefined) return refused(closed);
  await page.goto(url, { timeout: NAVIGATION_MS, waitUntil: 'domcontentloaded' });
  await page.waitForLoadState('load', { timeout: LOAD_MS }).catch(() => undefined);
  return undefined;
}

export const navigate = defineTool({
  name: 'browser_navigate',
  title: 'Go to a URL',
  does: 'changes',
  description: 'Navigate to a URL in the browser',
  seconds: 45,
  input: {
    url: z.string().min(1).describe('URL to navigate to'),
    screenshot: z.boolean().default(false).describe('A picture of the page too'),
  },
  compatible: true,
  output: {},
  async run({ url, screenshot }, { page, lease }) {
    const closed = await goTo(page, url);
    if (closed !== undefined) return closed;
    const result = await succeeded(page);
    return screenshot ? withPicture(result, page, lease) : result;
  },
});

/** The session is open as long as the lease lives; what is left to do is to navigate. */
export const open = defineTool({
  name: 'browser_open',
  title: 'Open the browser',
  does: 'changes',
  description: 'Open the browser session, at a URL if one is given; answers its id and a picture of the page',
  seconds: 45,
  input: {
    url: z.string().min(1).optional().describe('URL to start with'),
    screenshot: z.boolean().default(true).describe('A picture of the page too'),
  },
  compatible: true,
  output: { status: z.string().optional(), sessionId: z.string().optional() },
  async run({ url, screenshot }, { page, lease }) {
    const closed = url === undefined ? undefined : await goTo(page, url);
    if (closed !== undefined) return closed;
    const result = await succeeded(page, { status: 'opened', sessionId: lease.sessionId });
    return screenshot ? withPicture(result, page, lease) : result;
  },
});

async function withPicture(result: CallToolResult, page: Page, { pictures }: ToolLease): Promise<CallToolResult> {
  const picture = await screenshotPart(page, pictures);
  return 'withheld' in picture
    ? withNotes(result, [picture.withheld])
    : { ...result, content: [...result.content, picture] };
}
