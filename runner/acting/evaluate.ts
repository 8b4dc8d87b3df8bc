import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JSHandle, Page } from 'playwright-core';
import * as z from 'zod';
import { type Refusal, refused } from '../../contract/tool-failure.ts';
import { existing, pinTarget } from '../acting/target.ts';
import { pageScript } from '../browser/page-script.ts';
import { sessionOf } from '../browser/page-session.ts';
import { withoutMarks } from '../browser/page-text.ts';
import { wellFormed } from '../budget/well-formed.ts';
import { notOneElement } from '../results/result.ts';
import type { Documents } from '../secrecy/documents.ts';

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
    target === undefined ? await page.evaluateHandle('document') : await pinTarget(page, target);
  if (subject === undefined) return notOneElement(String(target));
  const closed = await refusal();
  if (closed !== undefined) return refused(closed);
  documents.runsScript(page);
  return evaluated(await subject.evaluate(target === undefined ? inDocument : onElement, expression));
}

/** Evaluates a script of the agent's in the page as it is, or on the element of a target. */
export async function evaluateOnPage(
  page: Page,
  { function: expression, target }: z.output<typeof evaluateArguments>,
): Promise<CallToolResult> {
  if (target === undefined) return answered(await inMainWorld(page, expression));
  return evaluated(await (await existing(page, target)).evaluate(onElement, expression));
}

const evaluated = ({ result }: { result: unknown }): CallToolResult =>
  answered(JSON.stringify(result, null, 2) ?? 'undefined');

const answered = (json: string): CallToolResult => ({
  content: [{ type: 'text', text: `### Result\n${withoutMarks(wellFormed(json))}` }],
});

/**
 * The script's answer as JSON, by one command: Playwright's `evaluate` brings a script of its own into each new
 * document first, and asks for the document's global object before the script is run. Rejects in its words.
 */
async function inMainWorld(page: Page, script: string): Promise<string> {
  const session = await sessionOf(page);
  const { result, exceptionDetails } = await session
    .send('Runtime.evaluate', {
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
      expression: `(${ANSWER})((${script}\n))`,
    })
    .catch((error: unknown) => {
      throw NAVIGATED.test(String(error)) ? new Error(`page.evaluate: ${DESTROYED}`) : error;
    });
  if (exceptionDetails === undefined) return typeof result.value === 'string' ? result.value : 'undefined';
  const { exception, text } = exceptionDetails;
  throw new Error(`page.evaluate: ${exception?.description ?? exception?.value ?? text}`);
}

const ANSWER = pageScript(new URL('./evaluate.page.js', import.meta.url));
const NAVIGATED =
  /Inspected target navigated|Cannot find (?:default execution )?context|Execution context was destroyed/;
const DESTROYED = 'Execution context was destroyed, most likely because of a navigation';

/** Run in the page, with the document that was found before: a function is called, of anything else the value is taken. */
async function inDocument(_document: unknown, expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: the agent's script, in the page for which it is meant.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value() : value) };
}

async function onElement(element: unknown, expression: string): Promise<{ result: unknown }> {
  // biome-ignore lint/security/noGlobalEval: as above.
  const value: unknown = eval(`(${expression})`);
  return { result: await (typeof value === 'function' ? value(element) : value) };
}
