import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { refused } from '../../contract/tool-failure.ts';
import { refusedUrl } from '../browser/addresses.ts';
import { defineTool, type PageContext } from './define-tool.ts';
import { goTo, urlOf } from './go-to.ts';
import { succeeded, withNotes } from './result.ts';
import { screenshotPart } from './screenshot.ts';

/** Goes there, and resolves with what the page is then, or with a refusal. */
async function opened(
  address: string,
  { page, settled, signal }: PageContext,
  fields: Record<string, unknown> = {},
): Promise<CallToolResult> {
  const closed = refusedUrl(urlOf(address));
  if (closed !== undefined) return refused(closed);
  const response = await settled(page, () => goTo(page, address, signal), { firstMs: 0 });
  const isError = response !== undefined && response.status() >= 400;
  return succeeded(page, fields, isError ? [`The site answered ${response.status()} ${response.statusText()}.`] : []);
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
  async run({ url, screenshot }, context) {
    const result = await opened(url, context);
    return screenshot ? withPicture(result, context) : result;
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
  async run({ url, screenshot }, context) {
    const fields = { status: 'opened', sessionId: context.lease.sessionId };
    const result = await (url === undefined ? succeeded(context.page, fields) : opened(url, context, fields));
    return screenshot ? withPicture(result, context) : result;
  },
});

async function withPicture(
  result: CallToolResult,
  { page, lease: { pictures } }: PageContext,
): Promise<CallToolResult> {
  if (result.isError) return result;
  const picture = await screenshotPart(page, pictures);
  return 'withheld' in picture
    ? withNotes(result, [picture.withheld])
    : { ...result, content: [...result.content, picture] };
}
