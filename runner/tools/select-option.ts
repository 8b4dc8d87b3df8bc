import * as z from 'zod';
import { existing } from '../acting/target.ts';
import { choicesOfFields } from '../secrecy/rules.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, ANSWERS, onPage } from './playwright-form.ts';

export const selectOption = defineTool({
  name: 'browser_select_option',
  seconds: 30,
  effect: 'acts',
  whileTainted: { choices: args => choicesOfFields([args]) },
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Select option',
    description: 'Select options of a list',
    args: { values: 'Texts or values' },
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage({ target: z.string(), values: z.array(z.string()) }, async (page, { target, values }) => {
      await (await existing(page, target)).selectOption(values, ACTION);
    }),
  },
});
