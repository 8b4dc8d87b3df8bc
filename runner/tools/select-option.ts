import type { Page } from 'playwright-core';
import * as z from 'zod';
import { type Refusal, refusalResult } from '../../contract/tool-failure.ts';
import { positionOf } from '../acting/choice.ts';
import { chooseDrawn } from '../acting/drawn-list.ts';
import { chooseOptions, type Entered, enterText } from '../acting/enter-text.ts';
import { type Field, fieldsOf } from '../acting/field.ts';
import { pinTarget } from '../acting/target.ts';
import { notOneElement } from '../results/result.ts';
import { choicesOfFields } from '../secrecy/rules.ts';
import { defineTool } from './define-tool.ts';
import { ANSWERS, onPage } from './playwright-form.ts';

export const selectOption = defineTool({
  name: 'browser_select_option',
  seconds: 30,
  effect: 'acts',
  whileTainted: { choices: args => choicesOfFields([args]).map(choice => ({ ...choice, isNeverTyped: true })) },
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
      const { count, first } = await fieldsOf(page, target);
      if (first === undefined || count > 1) return notOneElement(target, count);
      const chosen = await chooseFrom(page, target, first, values);
      return typeof chosen === 'object' && 'code' in chosen ? refusalResult(chosen) : undefined;
    }),
  },
});

async function chooseFrom(page: Page, target: string, field: Field, values: readonly string[]): Promise<Entered> {
  if (field.kind === 'list') return chooseOptions(page, target, field, values);
  const [value, ...more] = values;
  if (value === undefined || more.length > 0) return NO_LIST;
  if (field.kind === 'drawn' || field.kind === 'group') return enterText(page, target, field, value);
  if (field.options.length > 0) return typeOffered(page, target, field, value);
  const element = field.isCombobox ? await pinTarget(page, target) : undefined;
  return element === undefined ? NO_LIST : ((await chooseDrawn(element, value)) ?? 'chosen');
}

/** Types what the field suggests. */
async function typeOffered(page: Page, target: string, field: Field, value: string): Promise<Entered> {
  const position = positionOf(value, field.options);
  return typeof position === 'object'
    ? position
    : enterText(page, target, field, field.options[position]?.value ?? value);
}

const NO_LIST: Refusal = {
  code: 'field_refused',
  why: 'The element is no list of options.',
  instead:
    'Click it, then the option that appears. If the field has suggestions, type into it (browser_type), then click one. Click a checkbox.',
};
