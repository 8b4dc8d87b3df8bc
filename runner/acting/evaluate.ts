import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JSHandle, Page } from 'playwright-core';
import * as z from 'zod';
import { type Refusal, refusalResult } from '../../contract/tool-failure.ts';
import { makeWellFormed } from '../../contract/well-formed.ts';
import { findExisting, pinTarget } from '../acting/target.ts';
import { pageScript } from '../browser/page-script.ts';
import { sessionOf } from '../browser/page-session.ts';
import { bareText, withoutMarks } from '../browser/page-text.ts';
import { invalidArguments, notOneElement } from '../results/result.ts';
import type { Documents } from '../secrecy/documents.ts';
import { type ScriptForm, scriptForm } from './script-form.ts';

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
  const { data, error } = evaluateArguments.safeParse(args);
  if (data === undefined) return invalidArguments(z.prettifyError(error));
  const { function: script, target } = data;
  const form = scriptForm(script);
  if ('fault' in form) return noScript(form.fault);
  const subject: JSHandle | undefined =
    target === undefined ? await page.evaluateHandle('document') : await pinTarget(page, target);
  if (subject === undefined) return notOneElement(String(target));
  const closed = await refusal();
  if (closed !== undefined) return refusalResult(closed);
  documents.runsScript(page);
  return answered(await subject.evaluate(target === undefined ? inDocument : onElement, codeOf(form)));
}

/** Evaluates a script of the agent's in the page as it is, or on the element of a target. */
export async function evaluateOnPage(
  page: Page,
  { function: script, target }: z.output<typeof evaluateArguments>,
): Promise<CallToolResult> {
  const form = scriptForm(script);
  if ('fault' in form) return noScript(form.fault);
  if (target === undefined) return answered(await inMainWorld(page, form));
  return answered(await (await findExisting(page, target)).evaluate(onElement, codeOf(form)));
}

const noScript = (fault: string): CallToolResult =>
  refusalResult({
    code: 'invalid_arguments',
    why: `The script does not parse: ${fault}.`,
    instead: 'Give a function, such as () => document.title, or with a target element => element.textContent.',
  });

const answered = (json: unknown): CallToolResult => ({
  content: [
    { type: 'text', text: `### Result\n${withoutMarks(typeof json === 'string' ? asJson(json) : 'undefined')}` },
  ],
});

/** The text that the page gave as JSON, quoted where it is none: the page may have written a JSON.stringify of its own. */
function asJson(said: string): string {
  const text = makeWellFormed(said.slice(0, ANSWER_CHARACTERS_MAX));
  try {
    JSON.parse(text); // the beginning of a longer one is none
    return text;
  } catch {
    return ALONE.test(text) ? bareText(text) : JSON.stringify(text);
  }
}

/** Results have room for fewer; longer ones would hold the runner's thread. */
const ANSWER_CHARACTERS_MAX = 2_000_000;

/** Values that have no form in JSON, and stand alone; the page names functions and symbols. */
const ALONE = /^(?:-?\d+n|NaN|-?Infinity|-0|<(?:function\b|Symbol\().*>)$/s;

type Runnable = Exclude<ScriptForm, { readonly fault: string }>;

/** Code whose value is the answer as JSON; `element` is what the target names. */
const codeOf = (form: Runnable): string =>
  `(${ANSWER})(${'expression' in form ? `(${form.expression}\n)` : `eval(${JSON.stringify(form.statements)})`}, element)`;

/**
 * The script's answer as JSON, by one command: Playwright's `evaluate` brings a script of its own into each new
 * document first, and asks for the document's global object before the script is run. Rejects in its words.
 */
async function inMainWorld(page: Page, form: Runnable): Promise<string | undefined> {
  const session = await sessionOf(page);
  const asked = { awaitPromise: true, userGesture: true } as const;
  if ('expression' in form) {
    const expression = `(${ANSWER})((${form.expression}\n))`;
    return answerOf(await session.send('Runtime.evaluate', { ...asked, returnByValue: true, expression }).catch(moved));
  }
  // A block keeps what it declares, and has the value of its last statement. A page may forbid `eval`.
  const ran = await session.send('Runtime.evaluate', { ...asked, expression: `{${form.statements}\n}` }).catch(moved);
  const { objectId, value, unserializableValue } = ran.exceptionDetails?.exception ?? ran.result;
  if (objectId === undefined)
    return ran.exceptionDetails === undefined ? (unserializableValue ?? JSON.stringify(value, null, 2)) : answerOf(ran);
  const given = ran.exceptionDetails === undefined ? 'this' : '() => { throw this }';
  return answerOf(
    await session
      .send('Runtime.callFunctionOn', {
        ...asked,
        returnByValue: true,
        objectId,
        functionDeclaration: `function () { return (${ANSWER})(${given}) }`,
      })
      .catch(moved),
  );
}

interface Ran {
  readonly result: { readonly value?: unknown };
  readonly exceptionDetails?: {
    readonly text: string;
    readonly exception?: { readonly description?: string; readonly value?: unknown };
  };
}

/** The value of what ran. Throws as Playwright does where the script threw. */
function answerOf({ result, exceptionDetails }: Ran): string | undefined {
  if (exceptionDetails === undefined) return result.value === undefined ? undefined : String(result.value);
  const { exception, text } = exceptionDetails;
  throw new Error(`page.evaluate: ${exception?.description ?? exception?.value ?? text}`);
}

function moved(error: unknown): never {
  throw NAVIGATED.test(String(error)) ? new Error(`page.evaluate: ${DESTROYED}`) : error;
}

const ANSWER = pageScript(new URL('./evaluate.page.js', import.meta.url));
const NAVIGATED =
  /Inspected target navigated|Cannot find (?:default execution )?context|Execution context was destroyed/;
const DESTROYED = 'Execution context was destroyed, most likely because of a navigation';

/** Run in the page, with the document that was found before. */
function inDocument(_document: unknown, code: string): unknown {
  const element = undefined;
  void element; // for the code
  // biome-ignore lint/security/noGlobalEval: the agent's script, in the page for which it is meant.
  return eval(code);
}

function onElement(element: unknown, code: string): unknown {
  void element; // for the code
  // biome-ignore lint/security/noGlobalEval: as above.
  return eval(code);
}
