import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JSHandle, Page } from 'playwright-core';
import * as z from 'zod';
import type { Documents } from '../secrecy/documents.ts';
import { failure } from './result.ts';
import { pinned } from './target.ts';

const evaluateArguments = z.object({ function: z.string(), target: z.string().optional() });

/**
 * Evaluates a script of the agent's in the document that was found to hold no secret, and in no other: one that takes
 * its place meanwhile may hold one. Answers as Playwright MCP's own tool does.
 */
export async function evaluateInDocument(
  page: Page,
  documents: Documents,
  args: Record<string, unknown>,
  refusal: () => Promise<string | undefined>,
): Promise<CallToolResult> {
  const { function: expression, target } = evaluateArguments.parse(args);
  const subject: JSHandle | undefined =
    target === undefined ? await page.evaluateHandle('document') : await pinned(page, target);
  if (subject === undefined) return failure(`"${target}" does not name exactly one element of the page.`);
  const refused = await refusal();
  if (refused !== undefined) return failure(refused);
  documents.runsScript(page);
  const { result } = await subject.evaluate(target === undefined ? inPage : onElement, expression);
  return { content: [{ type: 'text', text: `### Result\n${JSON.stringify(result, null, 2) ?? 'undefined'}` }] };
}

/** Run in the page: a function is called, of anything else the value is taken. */
async function inPage(_document: unknown, expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: the agent's script, in the page for which it is meant.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value() : value) };
}

async function onElement(element: unknown, expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: as above.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value(element) : value) };
}
