import type { Variant } from './variants.ts';

/** Present unless one of these variants is chosen, or present when one of them is. */
export type Presence = { readonly unlessAny: readonly Variant[] } | { readonly ifAny: readonly Variant[] };

export const ALWAYS: Presence = { unlessAny: [] };

export const isAlways = (when: Presence): boolean => 'unlessAny' in when && when.unlessAny.length === 0;

/** A value of the chart, nothing where a part of its path has none. */
export function valueAt(path: string): string {
  const [first = '', ...rest] = path.split('.');
  return rest.reduce(
    (at, name) => (/^\d+$/.test(name) ? `(index ${at} ${name})` : `(${at}).${name}`),
    `$.Values.${first}`,
  );
}

/** The condition, as an argument of `if`. */
export function conditionText(when: Presence): string {
  if ('ifAny' in when) return join('or', when.ifAny.map(chosen));
  return join('and', when.unlessAny.map(notChosen));
}

const join = (by: string, conditions: readonly string[]): string =>
  conditions.length === 1 ? conditions.join() : `${by} ${conditions.map(each => `(${each})`).join(' ')}`;

function chosen({ when }: Variant): string {
  if ('without' in when) return `not ${valueAt(when.without)}`;
  if ('zero' in when) return `eq (int ${valueAt(when.zero)}) 0`;
  return `eq ${valueAt(when.path)} ${JSON.stringify(when.is)}`;
}

function notChosen({ when }: Variant): string {
  if ('without' in when) return valueAt(when.without);
  if ('zero' in when) return `ne (int ${valueAt(when.zero)}) 0`;
  return `ne ${valueAt(when.path)} ${JSON.stringify(when.is)}`;
}
