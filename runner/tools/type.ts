import * as z from 'zod';
import { locate } from '../acting/target.ts';
import { pageResult } from '../results/result.ts';
import { choicesOfFields } from '../secrecy/rules.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, ANSWERS, type BrowserCall, onPage, TARGET } from './playwright-form.ts';
import { enterOrUpload, putText, readyForSecrets } from './put-text.ts';
import { typeSecret } from './type-secret.ts';

const typeArguments = z.object({
  target: z.string(),
  text: z.string(),
  submit: z.boolean().optional(),
  slowly: z.boolean().optional(),
});

const typeOnPage = (args: Record<string, unknown>, call: BrowserCall) =>
  onPage(typeArguments.shape, async (page, { target, text, submit, slowly }) => {
    const result = await enterOrUpload(page, target, text, call.lease, slowly);
    if (submit === true && result?.isError !== true) await locate(page, target).press('Enter', ACTION);
    return result;
  })(args, call);

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
