import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { actionTimeout, type ToolCode } from '../../contract/tool-codes.ts';
import { refusalResult, toolFailure } from '../../contract/tool-failure.ts';

/** S2: every result of a custom tool has one shape. */
export async function pageResult(
  page: Page,
  fields: Record<string, unknown> = {},
  hints: readonly string[] = [],
): Promise<CallToolResult> {
  const result = { success: true, url: page.url(), title: await page.title(), ...fields };
  return { content: [{ type: 'text', text: JSON.stringify(hints.length > 0 ? { ...result, hints } : result) }] };
}

/** Lines of text as a result. */
export const textResult = (...lines: string[]): CallToolResult => ({
  content: lines.map(text => ({ type: 'text', text })),
});

/** The result of a custom tool that names no page. */
export const successResult = (fields: Record<string, unknown>): CallToolResult =>
  textResult(JSON.stringify({ success: true, ...fields }));

/** A failure that Playwright words, as plain text. */
export const failure = (...lines: string[]): CallToolResult => ({
  content: lines.map(text => ({ type: 'text', text })),
  isError: true,
});

/** The text of a result, its parts joined by line breaks. */
export const textOf = ({ content }: Pick<CallToolResult, 'content'>): string =>
  content.map(part => (part.type === 'text' ? part.text : '')).join('\n');

/** A failure with a stable code, a sentence, and what may help. */
export const failureResult: (code: ToolCode, message: string, ...hints: string[]) => CallToolResult = toolFailure;

/** Arguments that a tool does not take; `why` says what is wrong with which. */
export const invalidArguments = (why: string): CallToolResult =>
  refusalResult({ code: 'invalid_arguments', why, instead: 'tools/list has the schema of each tool.' });

/** A target that names no element, or several; `count` where it is known. */
export const notOneElement = (target: string, count?: number): CallToolResult =>
  refusalResult({
    code: 'element_not_found',
    why: `"${target}" ${NAMED(count)}.`,
    instead: 'Take a snapshot and use the ref of the element.',
  });

const NAMED = (count: number | undefined): string => {
  if (count === undefined) return 'does not name exactly one element of the page now';
  return count === 0 ? 'names no element of the page now' : `names ${count} elements of the page now, not one`;
};

/** A call that took longer than it may; what is known beside. */
export const timeoutResult = (tool: string, seconds: number, ...known: string[]): CallToolResult =>
  failureResult(
    actionTimeout(tool, seconds),
    known.join(' '),
    'The page may still be loading: wait, then look at it again.',
  );

/** A failure that Playwright threw, in the same shape. */
export function normaliseFailure(result: CallToolResult): CallToolResult {
  const texts = result.content.map(part => (part.type === 'text' ? part.text : ''));
  const [first = ''] = texts;
  if (!result.isError || first.startsWith('{')) return result;
  // Playwright's messages end in a call log for developers.
  const message = texts.join(' ').split('\nCall log')[0] ?? '';
  return failureResult('action_failed', message);
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
export function addStructure(result: CallToolResult): CallToolResult {
  const texts = result.content.filter(({ type }) => type === 'text');
  const text = textOf({ content: texts });
  if (texts.length !== 1 || !text.startsWith(OWN_JSON)) return result;
  try {
    return { ...result, structuredContent: JSON.parse(text) };
  } catch {
    return failureResult('result_withheld', 'The result held a secret across its fields, and is not shown.');
  }
}
