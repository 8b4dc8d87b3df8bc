import type { Page } from 'playwright-core';
import type { BeforeFill } from '../secrecy/before-fill.ts';
import type { Choice } from '../secrecy/rules.ts';
import { fieldOf } from './field.ts';
import { pinTarget } from './target.ts';

const FIND_MS = 1_000;

/** Whether a text would be compared with what the target's element offers, and did not offer before a secret was filled in. */
export async function choosesAnew(
  page: Page,
  { target, texts, isNeverTyped }: Choice,
  before: BeforeFill,
): Promise<boolean> {
  const element = await pinTarget(page, target, FIND_MS);
  if (element === undefined) return false;
  const { kind, isCombobox, options } = await fieldOf(element);
  if (kind === 'list') return !(await before.isSameList(element));
  if (kind === 'other') return isNeverTyped === true && (isCombobox || options.length > 0);
  return kind !== 'formed' && !texts.every(text => SWITCH.test(text.trim()));
}

/** Texts that switch a checkbox or a radio button on, or off, whatever its label is. */
export const ON = /^(?:true|on|yes|checked|selected|enabled|ticked|1)$/i;
export const OFF = /^(?:false|off|no|unchecked|unselected|disabled|unticked|0|)$/i;
const SWITCH = new RegExp(`${ON.source}|${OFF.source}`, 'i');
