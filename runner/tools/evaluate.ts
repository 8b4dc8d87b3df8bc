import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JSHandle, Page } from 'playwright-core';
import * as z from 'zod';
import { type Refusal, refused } from '../../contract/tool-failure.ts';
import type { Documents } from '../secrecy/documents.ts';
import { notOneElement } from './result.ts';
import { existing, pinned } from './target.ts';

const evaluateArguments = z.object({ function: z.string(), target: z.string().optional() });

/**
 * Evaluates a script of the agent's in the document that was found to hold no secret, and in no other: one that takes
 * its place meanwhile may hold one. Answers as Playwright MCP's own tool does.
 */
export async function evaluateInDocument(
  page: Page,
  documents: Documents,
  args: Record<string, unknown>,
  refusal: () => Promise<Refusal | undefined>,
): Promise<CallToolResult> {
  const { function: expression, target } = evaluateArguments.parse(args);
  const subject: JSHandle | undefined =
    target === undefined ? await page.evaluateHandle('document') : await pinned(page, target);
  if (subject === undefined) return notOneElement(String(target));
  const closed = await refusal();
  if (closed !== undefined) return refused(closed);
  documents.runsScript(page);
  return evaluated(await subject.evaluate(target === undefined ? inPage : onElement, expression));
}

/** Evaluates a script of the agent's in the page as it is, or on the element of a target. */
export async function evaluateOnPage(
  page: Page,
  { function: expression, target }: z.output<typeof evaluateArguments>,
): Promise<CallToolResult> {
  if (target === undefined) return evaluated(await page.evaluate(asPage, expression));
  return evaluated(await (await existing(page, target)).evaluate(onElement, expression));
}

const evaluated = ({ result }: { result: unknown }): CallToolResult => ({
  content: [{ type: 'text', text: `### Result\n${JSON.stringify(result, null, 2) ?? 'undefined'}` }],
});

/** Run in the page: a function is called, of anything else the value is taken. */
async function asPage(expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: the agent's script, in the page for which it is meant.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value() : value) };
}

/** As above, with the document that was found before. */
async function inPage(_document: unknown, expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: as above.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value() : value) };
}

async function onElement(element: unknown, expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: as above.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value(element) : value) };
}
