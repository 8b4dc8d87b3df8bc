import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { existing } from '../acting/target.ts';
import { pageResult } from '../results/result.ts';
import { choicesOfFields } from '../secrecy/rules.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, ANSWERS, onPage, TARGET } from './playwright-form.ts';
import { putText, readyForSecrets } from './put-text.ts';
import { typeSecret } from './type-secret.ts';

const typeOnPage = onPage(
  { target: z.string(), text: z.string(), submit: z.boolean().optional(), slowly: z.boolean().optional() },
  async (page: Page, { target, text, submit, slowly }) => {
    const element = await existing(page, target);
    await (slowly === true ? typeSlowly(element, text) : element.fill(text, ACTION));
    if (submit === true) await element.press('Enter', ACTION);
  },
);

/** Key by key, in place of what the field holds: Playwright alone would put the text before that. */
async function typeSlowly(element: Locator, text: string): Promise<void> {
  // Elements other than fields accept keys too.
  if (await element.isEditable(ACTION).catch(() => false)) await element.selectText(ACTION);
  await element.pressSequentially(text, ACTION);
}

export const type = defineTool({
  name: 'browser_type',
  seconds: 30,
  effect: 'fills',
  whileTainted: {
    refusedArgument: ({ slowly }) => (slowly === true ? 'texts are put in whole, without "slowly"' : undefined),
    choices: args => choicesOfFields([args]),
  },
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Type text',
    description: 'Type into a field, in place of what it holds',
    args: { target: TARGET, submit: 'Then press Enter', slowly: 'Key by key' },
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    namesUnfitFields: true,
    run: async (args, call) => (await typeSecret(args, call)) ?? typeOnPage(args, call),
  },
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Type text',
    description:
      'Type text into a form field, in place of what it holds; choose an option of a list; tick a checkbox or radio button; ' +
      'give a file field a file',
    input: {
      selector: z.string().min(1).describe('CSS selector of the field'),
      text: z
        .string()
        .describe('Text to type, or the name of a secret; the text of an option; true or false; the name of a file'),
    },
    distinctive: ['selector'],
    compatible: true,
    output: {},
    settles: 'itself',
    snapshotAfter: false,
    run: async ({ selector, text }, { page, settled, lease, signal }) =>
      (await readyForSecrets(page, [selector], [text], lease.credentials)) ??
      (await settled(page, () => putText(page, selector, text, lease, signal), {
        unless: refused => refused !== undefined,
      })) ??
      pageResult(page),
  }),
});
