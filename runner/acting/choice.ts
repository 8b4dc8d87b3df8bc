import type { Page } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';
import { at, drawnFor } from './drawn-box.ts';
import { choicesOf, OFF, ON } from './options-of.ts';
import { actor, pinTarget, type Target } from './target.ts';

const CHOICE_MS = 5_000;
const OPTIONS_TOLD_MAX = 30;
const OPTION_CHARACTERS_MAX = 80;

/**
 * Chooses where an element takes no text: an option of a list by its text or value, a checkbox or a radio button by `true`, `false`,
 * its label or its value. Resolves with a refusal, `chosen`, `text`: the element is to be typed into, or `file`: it takes files.
 */
export async function choose(page: Page, target: Target, text: string): Promise<Refusal | 'chosen' | 'text' | 'file'> {
  const element = await pinTarget(page, target);
  if (element === undefined) return 'text';
  const { kind, names, options } = await choicesOf(element);
  const wanted = text.trim();
  switch (kind) {
    case 'list': {
      const index = positionOf(wanted, options);
      if (index === -1)
        return notOffered(
          `No option is ${quoted(text)}.`,
          options.map(each => each.text),
        );
      await actor(page, target).selectOption({ index }, { timeout: CHOICE_MS });
      return 'chosen';
    }
    case 'checkbox':
    case 'radio': {
      const isOn = ON.test(wanted) || names.some(name => same(name, wanted));
      if (!isOn && (kind === 'radio' || !OFF.test(wanted)))
        return notOffered(`${quoted(text)} is not a choice of this ${kind}.`, [
          'true',
          ...(kind === 'checkbox' ? ['false'] : []),
          ...names,
        ]);
      const drawn = await drawnFor(element);
      await (drawn?.element ?? actor(page, target)).setChecked(isOn, { ...at(drawn), timeout: CHOICE_MS });
      return 'chosen';
    }
    case 'file':
      return 'file';
    case 'other':
      return 'text';
  }
}

const same = (name: string, wanted: string): boolean => name.toLowerCase() === wanted.toLowerCase();

/** By its text or value, as written, else in another case; -1: none. */
function positionOf(wanted: string, options: readonly { text: string; value: string }[]): number {
  const exact = options.findIndex(({ text, value }) => text === wanted || value === wanted);
  return exact === -1 ? options.findIndex(({ text, value }) => same(text, wanted) || same(value, wanted)) : exact;
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, OPTION_CHARACTERS_MAX));

function notOffered(why: string, choices: readonly string[]): Refusal {
  const short = choices.filter(({ length }) => length > 0 && length <= OPTION_CHARACTERS_MAX);
  const shown = short.slice(0, OPTIONS_TOLD_MAX);
  const more = choices.length - shown.length;
  const instead = `Choose one of: ${shown.map(quoted).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
  return { code: 'option_not_found', why, instead };
}
