import type { Page } from 'playwright-core';
import * as z from 'zod';
import { refused } from '../../contract/tool-failure.ts';
import { choose } from './choice.ts';
import type { Credentials } from './credentials.ts';
import { defineTool, type ToolLease } from './define-tool.ts';
import { notOneElement, succeeded } from './result.ts';
import { actor, pinned, safeTarget, type Target } from './target.ts';
import { unfitFields } from './unfit-fields.ts';
import { filesToUpload } from './upload.ts';

const ACTION_MS = 5_000;

/**
 * Types a text, or the value behind a secret's name, or chooses what the text says, or the file of that name; resolves with a refusal or
 * nothing.
 */
async function put(page: Page, selector: Target, text: string, { credentials, files }: ToolLease, signal: AbortSignal) {
  if (credentials.isName(text)) {
    const refusal = await credentials.fill(page, selector, text, signal);
    return refusal && refused(refusal);
  }
  const done = await credentials.replace(page, selector, text);
  if (done === 'replaced') return undefined;
  if (done !== 'not_secret') return refused(done);
  const chosen = await choose(page, selector, text);
  if (typeof chosen === 'object') return refused(chosen);
  if (chosen === 'text') await write(page, selector, text);
  if (chosen !== 'file') return undefined;
  const paths = await filesToUpload([text], files);
  if (!Array.isArray(paths)) return paths;
  await actor(page, selector).setInputFiles(paths, { timeout: ACTION_MS });
  return undefined;
}

/** Pages that wait for keys hear of one, which the keyboards of phones do not name either. */
async function write(page: Page, selector: Target, text: string): Promise<void> {
  const field = actor(page, selector);
  await field.fill(text, { timeout: ACTION_MS });
  for (const event of ['keydown', 'keyup']) await field.dispatchEvent(event, { key: 'Unidentified' });
}

/** The fields with secrets after the others: what a text chooses in those must not depend on a secret. */
export const secretsLast = <T extends { readonly value: string }>(
  fields: readonly T[],
  { isName }: Pick<Credentials, 'isName'>,
): T[] => [...fields.filter(({ value }) => !isName(value)), ...fields.filter(({ value }) => isName(value))];

/** Resolves with a refusal or nothing. */
async function refresh(page: Page, targets: readonly string[], texts: readonly string[], credentials: Credentials) {
  if (!texts.some(credentials.isName)) return undefined;
  const refusal = await credentials.refresh(page, targets);
  return refusal && refused(refusal);
}

export const type = defineTool({
  name: 'browser_type',
  title: 'Type text',
  does: 'changes',
  description:
    'Type text into a form field, in place of what it holds; choose an option of a list; tick a checkbox or radio button; ' +
    'give a file field a file',
  seconds: 30,
  input: {
    selector: z.string().min(1).describe('CSS selector of the field'),
    text: z
      .string()
      .describe('Text to type, or the name of a secret; the text of an option; true or false; the name of a file'),
  },
  compatible: true,
  output: {},
  run: async ({ selector, text }, { page, settled, lease, signal }) =>
    (await refresh(page, [selector], [text], lease.credentials)) ??
    (await settled(page, () => put(page, selector, text, lease, signal), {
      unless: refused => refused !== undefined,
    })) ??
    succeeded(page),
});

export const fillAndSubmit = defineTool({
  name: 'browser_fill_and_submit',
  title: 'Fill and send a form',
  does: 'changes',
  description: 'Fill the fields of a form and submit it',
  seconds: 45,
  input: {
    fields: z
      .array(z.object({ selector: z.string().min(1), value: z.string().describe('Text, or the name of a secret') }))
      .min(1)
      .max(50),
    submitSelector: z.string().min(1).optional().describe('Left out: Enter is pressed in the last field'),
  },
  compatible: true,
  output: {},
  async run({ fields, submitSelector }, { page, settled, lease, signal }) {
    const { credentials, before } = lease;
    const fills = fields.some(({ value }) => credentials.isName(value));
    const targets = [
      ...fields.map(({ selector }) => selector),
      ...(submitSelector === undefined ? [] : [submitSelector]),
    ];
    const stale = await refresh(
      page,
      targets,
      fields.map(({ value }) => value),
      credentials,
    );
    if (stale !== undefined) return stale;
    const aim = (selector: string) => (fills ? safeTarget(page, selector, before) : selector);
    const steps: { selector: Target; value: string }[] = [];
    for (const { selector, value } of fields) {
      const found = await aim(selector);
      if (found === undefined) return notOneElement(selector);
      steps.push({ selector: found, value });
    }
    const submit = submitSelector === undefined ? undefined : await aim(submitSelector);
    if (submitSelector !== undefined && submit === undefined) return notOneElement(submitSelector);
    for (const { selector, value } of secretsLast(steps, credentials)) {
      const refused = await put(page, selector, value, lease, signal);
      if (refused !== undefined) return refused;
    }
    const last = steps.at(-1)?.selector ?? 'body';
    await settled(page, () =>
      submit === undefined ? submitFrom(page, last) : actor(page, submit).click({ timeout: ACTION_MS }),
    );
    return succeeded(page, {}, await unfitFields(page, lease.documents));
  },
});

/** A list takes Enter for itself. */
async function submitFrom(page: Page, target: Target): Promise<void> {
  const element = await pinned(page, target, ACTION_MS);
  if (element === undefined || !(await element.evaluate(askForm)))
    await actor(page, target).press('Enter', { timeout: ACTION_MS });
}

/** Runs in the page. */
function askForm(element: object): boolean {
  const { localName, form } = element as { localName: string; form?: { requestSubmit(): void } | null }; // an element has them
  if (localName !== 'select' || !form) return false;
  form.requestSubmit();
  return true;
}
