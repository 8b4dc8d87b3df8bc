import { ALWAYS, isAlways, type Presence } from './conditions.ts';
import { type SymbolOf, splitMarks, wholeMark } from './symbols.ts';
import type { Variant } from './variants.ts';

/** A rendered value with the fields of the environment in it. */
export type Template =
  | { readonly is: 'constant'; readonly value: unknown }
  | { readonly is: 'symbol'; readonly symbol: SymbolOf; readonly quoted: boolean }
  | { readonly is: 'text'; readonly parts: readonly (string | SymbolOf | Optional)[] }
  | { readonly is: 'map'; readonly entries: readonly Entry[] }
  | { readonly is: 'list'; readonly items: readonly Item[] }
  | { readonly is: 'choice'; readonly cases: readonly { readonly when: Presence; readonly of: Template }[] }
  | Sum
  /** Settings of a program: those of the template, then those of the values. */
  | { readonly is: 'settings'; readonly program: string; readonly data: Template }
  | { readonly is: 'settings-digest'; readonly program: string };

/** A sum that manifests compute from fields: cores or bytes of a runner, for each pod of the quota or for one. */
export interface Sum {
  readonly is: 'sum';
  readonly unit: 'cpu' | 'bytes' | 'count';
  readonly times: 'pods' | 'one';
  /** Paths of quantities; with `count`, a number to add. */
  readonly of: readonly string[];
  readonly plus?: number;
}

interface Optional {
  readonly when: Presence;
  readonly parts: readonly (string | SymbolOf)[];
}
export interface Entry {
  readonly when: Presence;
  readonly key: string;
  readonly value: Template;
  /** Entries of a map of the values, in place of this one. */
  readonly each?: SymbolOf;
}
export interface Item {
  readonly when: Presence;
  readonly of: Template;
  /** One item for each value of this list. */
  readonly each?: SymbolOf;
}

type Json = unknown;
type Fields = Readonly<Record<string, Json>>;
const isMap = (value: Json): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const same = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A value as each variant renders it, where it does. */
export type ByVariant<T = Json> = ReadonlyMap<Variant, T>;

/** One template for all that the variants render of a value. Variants that are not in `others` have the value of `base`. */
export function merge(base: Json, others: ByVariant): Template {
  const different = new Map([...others].filter(([, value]) => !same(value, base)));
  if (different.size === 0) return constant(base);
  const all = [base, ...different.values()];
  if (all.every(isMap)) return mergeMaps(base as Fields, different as ByVariant<Fields>);
  if (all.every(Array.isArray)) return mergeLists(base as Json[], different as ByVariant<Json[]>);
  if (all.every(value => typeof value === 'string')) return mergeTexts(base as string, different as ByVariant<string>);
  return choice(base, different);
}

function choice(base: Json, different: ByVariant): Template {
  const cases = [...groupSame(different)].map(([, { value, variants }]) => ({
    when: { ifAny: variants },
    of: constant(value),
  }));
  return { is: 'choice', cases: [...cases, { when: ALWAYS, of: constant(base) }] };
}

/** A value without variants. */
function constant(value: Json): Template {
  const symbol = wholeMark(value);
  if (symbol) return { is: 'symbol', symbol, quoted: typeof value === 'string' };
  if (Array.isArray(value))
    return { is: 'list', items: value.map(item => ({ when: ALWAYS, of: constant(item), ...eachOf(item) })) };
  if (isMap(value)) {
    const object = peerMark(value);
    if (object) return { is: 'symbol', symbol: object, quoted: false };
    return { is: 'map', entries: Object.entries(value).map(([key, each]) => entry(ALWAYS, key, constant(each))) };
  }
  if (typeof value !== 'string') return { is: 'constant', value };
  const parts = splitMarks(value);
  return parts.every(part => typeof part === 'string') ? { is: 'constant', value } : { is: 'text', parts };
}

const entry = (when: Presence, key: string, value: Template): Entry => {
  const each = wholeMark(key);
  return each ? { when, key, value, each } : { when, key, value };
};

/** The field that a peer of a network policy stands for. */
function peerMark(value: Json): SymbolOf | undefined {
  const cidr = isMap(value) && isMap(value.ipBlock) ? wholeMark(value.ipBlock.cidr) : undefined;
  return cidr?.kind === 'object' || cidr?.kind === 'objects' ? cidr : undefined;
}

/** The list whose values the item is made for: the one in it that no list inside it has. */
function eachOf(item: Json): { each?: SymbolOf } {
  const peer = peerMark(item);
  if (peer) return peer.kind === 'objects' ? { each: peer } : {};
  const found = findList(item);
  return found ? { each: found } : {};
}
function findList(value: Json): SymbolOf | undefined {
  const symbol = wholeMark(value);
  if (symbol) return symbol.kind === 'list' ? symbol : undefined;
  if (!isMap(value)) return undefined;
  return Object.values(value)
    .map(findList)
    .find(found => found !== undefined);
}

function mergeMaps(base: Fields, others: ByVariant<Fields>): Template {
  const keys = new Set([...Object.keys(base), ...[...others.values()].flatMap(each => Object.keys(each))]);
  const entries = [...keys].flatMap((key): Entry[] => {
    const having = new Map(
      [...others].filter(([, value]) => key in value).map(([variant, value]) => [variant, value[key]]),
    );
    if (key in base) {
      const absent = [...others.keys()].filter(variant => !having.has(variant));
      return [entry({ unlessAny: absent }, key, merge(base[key], having))];
    }
    return [...groupSame(having)].map(([, { value, variants }]) => entry({ ifAny: variants }, key, constant(value)));
  });
  return { is: 'map', entries };
}

function mergeLists(base: readonly Json[], others: ByVariant<readonly Json[]>): Template {
  return { is: 'list', items: aligned(base, others).map(({ when, of, value }) => ({ when, of, ...eachOf(value) })) };
}

/** Lists of names in expressions and settings differ by name. */
function mergeTexts(base: string, others: ByVariant<string>): Template {
  const tokens = (text: string) => text.split(/(?=,)/);
  const all = new Map([...others].map(([variant, text]) => [variant, tokens(text)]));
  const first = tokens(base);
  if (first.length === 1) return choice(base, others);
  const parts = aligned(first, all).flatMap(({ when, of }): readonly (string | SymbolOf | Optional)[] => {
    const own = partsOf(of);
    if (own === undefined) return alternatives(of);
    return isAlways(when) ? own : [{ when, parts: own }];
  });
  return { is: 'text', parts };
}

const partsOf = (of: Template): readonly (string | SymbolOf)[] | undefined =>
  of.is === 'constant'
    ? [String(of.value)]
    : of.is === 'symbol'
      ? [of.symbol]
      : of.is === 'text'
        ? (of.parts as readonly (string | SymbolOf)[]) // one without variants
        : undefined;

/** A choice inside a text: each case, where it and none before it holds. */
function alternatives(of: Template): Optional[] {
  if (of.is !== 'choice') throw new Error(`a text cannot have a ${of.is} in it`);
  const variants = of.cases.flatMap(({ when }) => ('ifAny' in when ? when.ifAny : []));
  return of.cases.map(({ when, of: each }) => ({
    when: 'ifAny' in when ? when : { unlessAny: variants },
    parts: partsOf(each) ?? [],
  }));
}

interface Aligned {
  readonly when: Presence;
  readonly of: Template;
  readonly value: Json;
}

/** Items of all variants in one order: those of the base, and before each of them what variants add there. */
function aligned(base: readonly Json[], others: ByVariant<readonly Json[]>): Aligned[] {
  const kept = base.map(() => new Map<Variant, Json>());
  const added = [...base, undefined].map(() => new Map<string, { value: Json; variants: Variant[] }>());
  for (const [variant, items] of others) {
    let at = 0;
    for (const [item, partner] of align(base, items)) {
      if (partner !== undefined) {
        kept[partner]?.set(variant, item);
        at = partner + 1;
        continue;
      }
      const key = JSON.stringify(item);
      const place = added[at] ?? new Map();
      place.set(key, { value: item, variants: [...(place.get(key)?.variants ?? []), variant] });
    }
  }
  return [...base, undefined].flatMap((item, index): Aligned[] => {
    const before = [...(added[index]?.values() ?? [])].map(({ value, variants }) => ({
      when: { ifAny: variants },
      of: constant(value),
      value,
    }));
    if (index === base.length) return before;
    const having = kept[index] ?? new Map();
    const absent = [...others.keys()].filter(variant => !having.has(variant));
    return [...before, { when: { unlessAny: absent }, of: merge(item, having), value: item }];
  });
}

/** The items of a variant, each with the index of its partner in the base. */
function align(base: readonly Json[], items: readonly Json[]): [Json, number | undefined][] {
  if (base.length === items.length)
    return items.map((item, index) => [item, peerMark(base[index]) && !same(base[index], item) ? undefined : index]);
  // the longest common subsequence, by identity
  const [a, b] = [base.map(identity), items.map(identity)];
  const length = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  const at = (i: number, j: number) => length[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (length[i] ?? [])[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const found: [Json, number | undefined][] = [];
  let i = 0;
  for (let j = 0; j < b.length; j++) {
    while (i < a.length && a[i] !== b[j] && at(i + 1, j) > at(i, j + 1)) i++;
    if (i < a.length && a[i] === b[j]) found.push([items[j], i++]);
    else found.push([items[j], undefined]);
  }
  return found;
}

const identity = (item: Json): string =>
  JSON.stringify(isMap(item) ? (item.mountPath ?? item.name ?? item.alert ?? item) : item);

function groupSame(values: ByVariant): Map<string, { value: Json; variants: Variant[] }> {
  const groups = new Map<string, { value: Json; variants: Variant[] }>();
  for (const [variant, value] of values) {
    const key = JSON.stringify(value);
    groups.set(key, { value, variants: [...(groups.get(key)?.variants ?? []), variant] });
  }
  return groups;
}
