import type { Refusal } from '../../contract/tool-failure.ts';
import type { FieldOption } from './field.ts';

const OPTIONS_TOLD_MAX = 30;
const OPTION_CHARACTERS_MAX = 80;

/** The position of the option that a text names; a refusal where it names none, a disabled one, or several. */
export function positionOf(wanted: string, options: readonly FieldOption[]): number | Refusal {
  const found = candidates(wanted.trim(), options);
  const [position] = found;
  if (position === undefined) return refuseChoice(`No option is ${quoted(wanted)}.`, offered(options));
  if (found.length > 1)
    return ambiguous(
      wanted,
      found.flatMap(each => options[each] ?? []),
    );
  return positionAt(position, options);
}

/** The position, or a refusal where the option there is disabled. */
export function positionAt(position: number, options: readonly FieldOption[]): number | Refusal {
  const option = options[position];
  return option?.isDisabled
    ? refuseChoice(`The option ${quoted(option.text || option.value)} is disabled.`, offered(options))
    : position;
}

/** By its text, by its value, else in another case or without its accents; those that can be chosen come before disabled ones. */
function candidates(wanted: string, options: readonly FieldOption[]): number[] {
  const by = (is: (option: FieldOption) => boolean): number[] =>
    options.flatMap((option, position) => (is(option) ? [position] : []));
  const steps = [
    by(({ text }) => text === wanted),
    by(({ value }) => value === wanted),
    by(({ text }) => same(text, wanted)),
    by(({ value }) => same(value, wanted)),
  ];
  const found = steps.find(positions => positions.length > 0) ?? [];
  // Options of one text are distinguished by their value.
  const byValue = found.length > 1 ? found.filter(position => options[position]?.value === wanted) : [];
  if (byValue.length > 0) return byValue.slice(0, 1);
  const enabled = found.filter(position => !options[position]?.isDisabled);
  return enabled.length > 0 ? enabled : found;
}

/** Whether two names differ in case, accents and blanks alone. */
export const same = (name: string, wanted: string): boolean => fold(name) === fold(wanted);

const fold = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\s+/g, ' ').trim().toLowerCase();

const offered = (options: readonly FieldOption[]): string[] =>
  options.filter(({ isDisabled }) => !isDisabled).map(({ text, value }) => text || value);

const quoted = (text: string): string => JSON.stringify(text.slice(0, OPTION_CHARACTERS_MAX));

function ambiguous(wanted: string, options: readonly FieldOption[]): Refusal {
  const values = options.map(({ value }) => value);
  const areDistinct = new Set(values).size === values.length;
  return {
    code: 'option_not_found',
    why: `${options.length} options are ${quoted(wanted)}.`,
    instead: areDistinct
      ? `Choose by value: ${quoteChoices(values)}.`
      : 'Choose it by the keyboard: ArrowDown, then Enter.',
  };
}

/** A refusal that names what is offered instead. */
export const refuseChoice = (why: string, choices: readonly string[]): Refusal => ({
  code: 'option_not_found',
  why,
  instead:
    choices.length === 0
      ? 'It offers nothing now: look at the page again.'
      : `Choose one of: ${quoteChoices(choices)}.`,
});

/** Why a checkbox or a radio button is not switched by this text. */
export const noSwitch = (text: string, kind: string, choices: readonly string[]): Refusal =>
  refuseChoice(`${quoted(text)} is not a choice of this ${kind}.`, choices);

function quoteChoices(choices: readonly string[]): string {
  const short = choices.filter(({ length }) => length > 0 && length <= OPTION_CHARACTERS_MAX);
  const shown = short.slice(0, OPTIONS_TOLD_MAX);
  const more = choices.length - shown.length;
  return `${shown.map(quoted).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
