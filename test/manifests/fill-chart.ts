import { createHash } from 'node:crypto';
import type { Presence } from '../../manifests/chart/conditions.ts';
import { NOT_PUBLIC_PATTERN } from '../../manifests/chart/helm.ts';
import type { ObjectTemplate } from '../../manifests/chart/objects.ts';
import type { SymbolOf } from '../../manifests/chart/symbols.ts';
import type { Entry, Item, Sum, Template } from '../../manifests/chart/template.ts';
import type { Variant } from '../../manifests/chart/variants.ts';
import { podsMax } from '../../manifests/parts/limits.ts';
import { bytesTimes, cpuTimes } from '../../manifests/parts/quantities.ts';

/** The objects that the chart makes of some values, without Helm: what its templates mean, not how they are spelled. */
export function fillChart(objects: readonly ObjectTemplate[], values: unknown): ReadonlyMap<string, unknown> {
  const filler = fill(values);
  return new Map(
    objects.filter(({ when }) => filler.holds(when)).map(({ file, template }) => [file, filler.value(template)]),
  );
}

/** The value at a path. */
const at = (values: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((of, name) => (of === undefined ? undefined : Object(of)[name]), values);

const isEmpty = (value: unknown) =>
  value === undefined || value === false || value === '' || (Array.isArray(value) && value.length === 0);

function fill(values: unknown) {
  const settings = new Map<string, Record<string, string>>();
  const get = (path: string) => at(values, path);
  const list = (path: string) => (get(path) ?? []) as readonly unknown[];
  const chosen = ({ when }: Variant): boolean => {
    if ('without' in when) return isEmpty(get(when.without));
    return 'zero' in when ? get(when.zero) === 0 : get(when.path) === when.is;
  };
  const holds = (when: Presence): boolean => ('ifAny' in when ? when.ifAny.some(chosen) : !when.unlessAny.some(chosen));

  function symbolValue({ path, kind, as }: SymbolOf): unknown {
    if (kind === 'list' || kind === 'joined') return list(path).join(',');
    if (as === 'hostname') return new URL(String(get(path))).hostname;
    if (as === 'repository') return String(get(path)).replace(/\.git$/, '');
    return get(path);
  }
  function sum({ unit, times, of, plus = 0 }: Sum): string {
    const pods = podsMax(Number(get('limits.capacity')));
    if (unit === 'count') return String(pods + plus);
    return (unit === 'cpu' ? cpuTimes : bytesTimes)(
      times === 'pods' ? pods : 1,
      of.map(path => String(get(path))),
    );
  }
  const entries = ({ key, value: of, each }: Entry): [string, unknown][] =>
    each ? Object.entries(Object(get(each.path))) : [[key, value(of)]];
  function items({ of, each }: Item): unknown[] {
    if (!each) return [value(of)];
    const all = list(each.path);
    const wanted =
      each.path === 'ownCidrs' ? all.filter(cidr => !new RegExp(NOT_PUBLIC_PATTERN).test(String(cidr))) : all;
    return wanted.map(one => value(of, { symbol: each, one }));
  }
  function value(of: Template, hand?: { symbol: SymbolOf; one: unknown }): unknown {
    switch (of.is) {
      case 'constant':
        return of.value;
      case 'symbol': {
        const found = of.symbol === hand?.symbol ? hand.one : symbolValue(of.symbol);
        return of.quoted && !hand ? String(found) : found;
      }
      case 'text':
        return of.parts
          .flatMap(part =>
            typeof part === 'string' || !('when' in part) ? [part] : holds(part.when) ? part.parts : [],
          )
          .map(part => (typeof part === 'string' ? part : symbolValue(part)))
          .join('');
      case 'sum':
        return sum(of);
      case 'map':
        return Object.fromEntries(
          of.entries
            .filter(({ when }) => holds(when))
            .flatMap(entry => (hand && !entry.each ? [[entry.key, value(entry.value, hand)]] : entries(entry))),
        );
      case 'list':
        return of.items.filter(({ when }) => holds(when)).flatMap(items);
      case 'choice':
        return value(
          (of.cases.find(({ when }) => holds(when)) ?? { of: { is: 'constant', value: undefined } as const }).of,
        );
      case 'settings': {
        const data = { ...(value(of.data) as Record<string, string>), ...Object(get(`settings.${of.program}`)) };
        settings.set(of.program, data);
        return data;
      }
      case 'settings-digest': {
        const data = settings.get(of.program) ?? {};
        const lines = Object.keys(data)
          .sort()
          .map(name => `${name}=${data[name]}\n`);
        return createHash('sha256').update(lines.join('')).digest('hex').slice(0, 16);
      }
    }
  }
  return { holds, value };
}
