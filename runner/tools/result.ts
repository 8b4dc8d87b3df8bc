import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { toolFailure } from '../../contract/tool-failure.ts';

/** S2: every result of a custom tool has one shape. */
export async function succeeded(
  page: Page,
  fields: Record<string, unknown> = {},
  hints: readonly string[] = [],
): Promise<CallToolResult> {
  const result = { success: true, url: page.url(), title: await page.title(), ...fields };
  return { content: [{ type: 'text', text: JSON.stringify(hints.length > 0 ? { ...result, hints } : result) }] };
}

/** A failure as plain text, as Playwright MCP words its own. */
export const failure = (...lines: string[]): CallToolResult => ({
  content: lines.map(text => ({ type: 'text', text })),
  isError: true,
});

/** The text of a result, its parts joined by line breaks. */
export const textOf = ({ content }: Pick<CallToolResult, 'content'>): string =>
  content.map(part => (part.type === 'text' ? part.text : '')).join('\n');

/** A failure with a stable code, a sentence, and what may help. */
export const failed: (code: string, message: string, ...hints: string[]) => CallToolResult = toolFailure;

const HINTS: readonly [RegExp, string][] = [
  [/^browser_action_timeout/, 'The page may still be loading: call browser_wait, then look with browser_get_content.'],
  [/^browser_crashed/, 'Do not retry here: ask for the session again and connect to the new address.'],
  [/strict mode violation/, 'Several elements match: use a selector of browser_get_content, which names one.'],
  [/ERR_TUNNEL_CONNECTION_FAILED|ERR_NAME_NOT_RESOLVED|ERR_CONNECTION/, 'The site cannot be reached from here.'],
  [/dialog is open/, 'A dialog blocks the page until browser_handle_dialog answers it.'],
];

/** A failure outside of the tool itself (time-out, cancellation, a crash of the browser), in the same shape. */
export function normalised(result: CallToolResult): CallToolResult {
  const texts = result.content.map(part => (part.type === 'text' ? part.text : ''));
  const [first = ''] = texts;
  if (!result.isError || first.startsWith('{')) return result;
  const code = /^[a-z_]+(:[a-z_]+:[\d.]+s)?$/.test(first) ? first : 'action_failed';
  // Playwright's messages end in a call log for developers.
  const message =
    texts
      .slice(code === first ? 1 : 0)
      .join(' ')
      .split('\nCall log')[0] ?? '';
  const hints = HINTS.filter(([sign]) => texts.some(text => sign.test(text))).map(([, hint]) => hint);
  return failed(code, message, ...hints);
}

/** How the texts of custom tools begin. */
const OWN_JSON = '{"success":';

/** The result with what else is to be said: within the text that is JSON, after any other. */
export function withNotes(result: CallToolResult, notes: readonly string[]): CallToolResult {
  const [first, ...rest] = result.content;
  if (notes.length === 0) return result;
  if (first?.type !== 'text' || !first.text.startsWith(OWN_JSON))
    return { ...result, content: [...result.content, ...notes.map(text => ({ type: 'text' as const, text }))] };
  const text = JSON.stringify({ ...JSON.parse(first.text), notes });
  return { ...result, content: [{ ...first, text }, ...rest] };
}

/**
 * The result with its text as `structuredContent` too, where it is one text and JSON: clients show either of them. Secrets are
 * taken out before.
 */
export function structured(result: CallToolResult): CallToolResult {
  const texts = result.content.filter(({ type }) => type === 'text');
  const text = textOf({ content: texts });
  if (texts.length !== 1 || !text.startsWith(OWN_JSON)) return result;
  try {
    return { ...result, structuredContent: JSON.parse(text) };
  } catch {
    return failed('result_withheld', 'The result held a secret across its fields, and is not shown.');
  }
}
