import type { Page } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';
import { noSwitch, positionOf, refuseChoice, same } from './choice.ts';
import { at, drawnFor } from './drawn-box.ts';
import { chooseDrawn } from './drawn-list.ts';
import { slideTo } from './drawn-slider.ts';
import { type Field, fieldsOf } from './field.ts';
import { fieldValue, formOf } from './field-value.ts';
import { OFF, ON } from './options-of.ts';
import { actor, locate, pinTarget, type Target } from './target.ts';

const ACTION = { timeout: 5_000 };
/** A field that is disabled or behind a dialog may be on its way to be open. */
const OPENING = { timeout: 1_500 };

/** `typed` or `chosen`; `file`: the element takes files; what the page made of the text, if that is another one; or why nothing was done. */
export type Entered = 'typed' | 'chosen' | 'file' | Altered | Refusal;

export interface Altered {
  /** The text of the field now. */
  readonly holds: string;
}

export interface EnterOptions {
  /** Types key by key, where the field takes any text. */
  readonly slowly?: boolean;
  /** Keys may be pressed where a person would: they go to the element that has the focus, which the page moves. */
  readonly mayPressKeys?: boolean;
}

/**
 * Gives a field the value that a text says: chooses an option of a list by its text or value, switches a checkbox or a radio button by
 * `true`, `false`, its label or its value, sets a date as people write it, else types the text. The same for every tool that fills fields.
 */
export async function enterText(
  page: Page,
  target: Target,
  field: Field,
  text: string,
  options: EnterOptions = {},
): Promise<Entered> {
  switch (field.kind) {
    case 'list':
      return chooseOptions(page, target, field, textsOf(field, text));
    case 'drawn': {
      const element = await pinTarget(page, target);
      return (element && (await chooseDrawn(element, text))) ?? 'chosen';
    }
    case 'slider': {
      if (obstacleOf(field) !== undefined) return field.obstacle === 'inert' ? BEHIND : READ_ONLY;
      const element = await pinTarget(page, target);
      return (element && (await slideTo(page, element, text))) ?? 'chosen';
    }
    case 'checkbox':
    case 'radio':
      return switchTo(page, target, field, text);
    case 'group':
      return chooseRadio(page, target, field, text);
    case 'file':
      return 'file';
    case 'formed':
    case 'other':
      return type(page, target, field, text, options);
  }
}

/** A list of several may be given as one text, `A, C`; what is an option as it stands is one. */
function textsOf({ isMultiple, options }: Field, text: string): readonly string[] {
  const parts = text.split(/[,;\n]/).map(each => each.trim());
  const isChoice = (each: string) => typeof positionOf(each, options) === 'number';
  return isMultiple && parts.length > 1 && !isChoice(text) && parts.every(isChoice) ? parts : [text];
}

/** Chooses the options that these texts name. */
export async function chooseOptions(
  page: Page,
  target: Target,
  field: Field,
  texts: readonly string[],
): Promise<'chosen' | Refusal> {
  if (texts.length > 1 && !field.isMultiple)
    return { code: 'option_not_found', why: 'The list takes one option.', instead: 'Give one text or value.' };
  const positions: { index: number }[] = [];
  for (const text of texts) {
    const index = positionOf(text, field.options);
    if (typeof index === 'object') return index;
    positions.push({ index });
  }
  const closed = obstacleOf(field);
  if (closed === 'inert') return BEHIND;
  await actor(page, target).selectOption(positions, closed === undefined ? ACTION : OPENING);
  return 'chosen';
}

async function switchTo(page: Page, target: Target, field: Field, text: string): Promise<Entered> {
  const { kind, names, isChecked } = field;
  const wanted = text.trim();
  const isNamed = wanted !== '' && names.some(name => same(name, wanted));
  const isOn = ON.test(wanted) || isNamed;
  if (!isOn && !OFF.test(wanted)) return noSwitch(text, kind, ['true', 'false', ...names]);
  if (kind === 'radio' && !isOn)
    return isChecked
      ? refuseChoice('A radio button is not switched off.', ['another radio button of its group'])
      : 'chosen';
  if (isOn === isChecked) return 'chosen';
  const closed = obstacleOf(field);
  if (closed === 'inert') return BEHIND;
  const element = await pinTarget(page, target);
  const drawn = element && (await drawnFor(element));
  const timeouts = closed === undefined ? ACTION : OPENING;
  await (drawn?.element ?? actor(page, target)).setChecked(isOn, { ...at(drawn), ...timeouts });
  return 'chosen';
}

const RADIOS = 'input[type=radio], [role=radio]';

async function chooseRadio(page: Page, target: Target, field: Field, text: string): Promise<Entered> {
  const position = positionOf(text, field.options);
  if (typeof position === 'object') return position;
  const element = await pinTarget(page, target);
  const radio = element && (await element.$$(RADIOS))[position];
  if (radio === undefined) return refuseChoice('The radio buttons changed meanwhile.', []);
  const { first } = await fieldsOf(page, radio);
  return first === undefined ? 'chosen' : switchTo(page, radio, first, 'true');
}

async function type(page: Page, target: Target, field: Field, text: string, options: EnterOptions): Promise<Entered> {
  const closed = obstacleOf(field);
  if (closed === 'inert') return BEHIND;
  if (closed === 'read-only') return READ_ONLY;
  const value = field.kind === 'formed' ? fieldValue(field.type, text) : text;
  if (value === undefined) return unfit(field, text);
  const offScale = field.scale && besideScale(field.scale, Number(value));
  if (offScale !== undefined) return offScale;
  const timeouts = closed === undefined ? ACTION : OPENING;
  if (field.kind === 'other') return typeAnyText(page, target, field, text, { ...options, ...timeouts });
  await actor(page, target).fill(value, timeouts);
  return 'typed';
}

/** A longer text is put in whole, whatever the field makes of it. */
const KEYED_CHARACTERS_MAX = 64;

async function typeAnyText(
  page: Page,
  target: Target,
  { lengthMax, isEditorInput }: Field,
  text: string,
  { slowly = false, mayPressKeys = false, timeout }: EnterOptions & typeof ACTION,
): Promise<Entered> {
  const element = actor(page, target);
  // A code of which each character has a box of its own goes on in the next box.
  const isTooLong = lengthMax > 0 && text.length > lengthMax && text.length <= KEYED_CHARACTERS_MAX;
  if (slowly || (isTooLong && mayPressKeys)) {
    // Elements other than fields accept keys too.
    if (await element.isEditable().catch(() => false)) await element.selectText({ timeout });
    if ('pressSequentially' in element) await element.pressSequentially(text, { timeout });
    else await element.type(text, { timeout });
    return isTooLong ? keptOf(text, await inPage(page, target, heldHere)) : 'typed';
  }
  if (isEditorInput && mayPressKeys) {
    await element.focus();
    // Keys go to the element that has the focus, whichever that is.
    if ((await inPage(page, target, heldHere)) !== null) {
      await page.keyboard.press('ControlOrMeta+A'); // the editor's text, which is in no field
      await (text === '' ? page.keyboard.press('Delete') : page.keyboard.insertText(text));
      return 'typed';
    }
  }
  await element.fill(text, { timeout });
  // Pages that wait for keys hear of one: unnamed, as the keyboards of phones send it.
  return keptOf(text, await inPage(page, target, sendKey));
}

/** A mask writes the same letters and digits in another form. */
function keptOf(text: string, holds: string | null): 'typed' | Altered {
  if (holds === null) return 'typed';
  const wanted = lettersOf(text);
  let found = 0;
  for (const each of lettersOf(holds)) if (each === wanted[found]) found += 1;
  return found === wanted.length ? 'typed' : { holds };
}

const lettersOf = (text: string): string[] => [...text.toLowerCase()].filter(each => /[\p{L}\p{N}]/u.test(each));

const obstacleOf = ({ obstacle }: Field) => (obstacle === 'none' ? undefined : obstacle);

const READ_ONLY: Refusal = {
  code: 'field_refused',
  why: 'The field is read-only: nothing can be typed into it.',
  instead: 'Click it: it may open a picker in which the value is chosen.',
};

const BEHIND: Refusal = {
  code: 'field_refused',
  why: 'The field is inert: the page has a dialog open before it, or has switched off the part that it is in.',
  instead: 'Answer or close the dialog of the page first.',
};

const VALUE_CHARACTERS_MAX = 80;

const unfit = ({ type }: Field, text: string): Refusal => ({
  code: 'field_refused',
  why: `The field takes ${formOf(type)}, and ${JSON.stringify(text.slice(0, VALUE_CHARACTERS_MAX))} is none, or may be several.`,
  instead: `Give ${formOf(type)}.`,
});

/** Why a slider does not take the number; it would go to the nearest one in silence. Undefined: it does. */
function besideScale(scale: NonNullable<Field['scale']>, wanted: number): Refusal | undefined {
  const { min, max, base, step } = scale;
  const stepOf = (value: number, round: (steps: number) => number) => base + round((value - base) / step) * step;
  const isBetween = wanted >= min && wanted <= max;
  if (isBetween && (step === 0 || Math.abs(stepOf(wanted, Math.round) - wanted) < step * STEP_SHARE)) return undefined;
  const bounded = Math.min(max, Math.max(min, wanted));
  const near = step === 0 ? [bounded] : [stepOf(bounded, Math.floor), stepOf(bounded, Math.ceil)];
  const offered = [
    ...new Set(near.filter(each => each >= min && each <= max).map(each => Number(each.toPrecision(12)))),
  ];
  return {
    code: 'field_refused',
    why: `The slider goes from ${min} to ${max}${step === 0 ? '' : ` in steps of ${step}`}: ${wanted} is not on it.`,
    instead: `Give ${offered.join(' or ')}.`,
  };
}

/** The share of a step that is an error of computing. */
const STEP_SHARE = 1e-6;

/** `read` runs in the page. */
const inPage = <T>(page: Page, target: Target, read: (element: object) => T): Promise<T> =>
  typeof target === 'string' ? locate(page, target).evaluate(read) : target.evaluate(read);

/** Runs in the page: what a field holds; null where it has no value, or the focus went on to another one. */
function heldHere(element: object): string | null {
  const field = element as { readonly value?: unknown; matches(selector: string): boolean }; // an element
  return typeof field.value === 'string' && field.matches(':focus') ? field.value : null;
}

/** Runs in the page: what the field holds afterwards; null where it has no value. */
function sendKey(element: object): string | null {
  const field = element as { readonly value?: unknown; dispatchEvent(event: object): void }; // an element
  const { KeyboardEvent } = globalThis as unknown as { KeyboardEvent: new (type: string, init: object) => object }; // a page has it
  for (const type of ['keydown', 'keyup'])
    field.dispatchEvent(
      new KeyboardEvent(type, { key: 'Unidentified', bubbles: true, cancelable: true, composed: true }),
    );
  return typeof field.value === 'string' ? field.value : null;
}
