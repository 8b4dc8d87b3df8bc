import * as z from 'zod';
import type { MatchingWork } from './matching-work.ts';
import { compilePattern, PATTERN_CHARS_MAX } from './patterns.ts';

/** `patternFaults` reads it, with the whole document: all patterns together must not be too large. */
const regexText = z.string().min(1).max(PATTERN_CHARS_MAX);

const scalar = z.union([z.string().max(10_000), z.number(), z.boolean()]);
const text = z.string().min(1).max(10_000);

const argumentPath = z
  .string()
  .max(256)
  .regex(
    /^(?:[A-Za-z0-9_$-]+|\*)(?:\.(?:[A-Za-z0-9_$-]+|\*))*$/,
    'must be argument names joined by dots, e.g. "url" or "fields.*.value"',
  );

const conditionOn = <O extends string, V extends z.ZodType>(operator: O, value: V) =>
  z.strictObject({
    path: argumentPath.describe(
      'Path of the value in the arguments of the call: names joined by dots, `*` for every element (`fields.*.value`). Values below the path count too.',
    ),
    operator: z
      .literal(operator)
      .describe(
        'Comparison. A `not` operator is the exact opposite of its twin: it holds for an argument that is absent.',
      ),
    value: value.describe('Value, pattern or list with which the argument is compared.'),
  });

/** A test of one argument. */
export const condition = z
  .discriminatedUnion('operator', [
    conditionOn('regex', regexText),
    conditionOn('notRegex', regexText),
    conditionOn('contains', text),
    conditionOn('notContains', text),
    conditionOn('startsWith', text),
    conditionOn('notStartsWith', text),
    conditionOn('endsWith', text),
    conditionOn('notEndsWith', text),
    conditionOn('equal', scalar),
    conditionOn('notEqual', scalar),
    conditionOn('in_list', z.array(scalar).min(1).max(1000)),
    conditionOn('not_in_list', z.array(scalar).min(1).max(1000)),
  ])
  .meta({ id: 'Condition' });
export type Condition = z.infer<typeof condition>;

const DEPTH_MAX = 32;
/** A visit of an element of the arguments takes as long as this many steps of a search. */
const STEPS_PER_NODE = 10;

/** Every scalar at or below the path, as text. Only own properties count. */
export function valuesAt(root: unknown, path: string, work: MatchingWork): string[] {
  let nodes: unknown[] = [root];
  for (const step of path.split('.')) {
    nodes = nodes.flatMap(node => childrenOf(node, step));
    work.spend(STEPS_PER_NODE * nodes.length);
  }
  const found: string[] = [];
  const collect = (node: unknown, depth: number): void => {
    work.spend(STEPS_PER_NODE);
    if (node === null || node === undefined || depth > DEPTH_MAX) return;
    if (typeof node === 'object') for (const child of Object.values(node)) collect(child, depth + 1);
    else found.push(String(node));
  };
  for (const node of nodes) collect(node, 0);
  return found;
}

function childrenOf(node: unknown, step: string): unknown[] {
  if (typeof node !== 'object' || node === null) return [];
  if (step === '*') return Object.values(node);
  const own = Object.getOwnPropertyDescriptor(node, step);
  return own && 'value' in own ? [own.value] : [];
}

/**
 * Whether the condition holds; with several values at the path, a positive operator asks for any of them. Throws
 * `MatchingWorkSpent`.
 */
export function conditionHolds(rule: Condition, callArguments: unknown, work: MatchingWork): boolean {
  const values = valuesAt(callArguments, rule.path, work);
  const any = (stepsPerCharacter: number, test: (value: string) => boolean) =>
    values.some(value => {
      work.spend(stepsPerCharacter * (value.length + 1));
      return test(value);
    });
  const matches = (pattern: string) => {
    const { program, cost } = compilePattern(pattern);
    return any(cost, value => program.matcher(value).find());
  };
  const isListed = (list: readonly unknown[]) =>
    any(1, value => {
      work.spend(list.length);
      return list.some(item => String(item) === value);
    });
  switch (rule.operator) {
    case 'regex':
      return matches(rule.value);
    case 'notRegex':
      return !matches(rule.value);
    case 'contains':
      return any(1, value => value.includes(rule.value));
    case 'notContains':
      return !any(1, value => value.includes(rule.value));
    case 'startsWith':
      return any(0, value => value.startsWith(rule.value));
    case 'notStartsWith':
      return !any(0, value => value.startsWith(rule.value));
    case 'endsWith':
      return any(0, value => value.endsWith(rule.value));
    case 'notEndsWith':
      return !any(0, value => value.endsWith(rule.value));
    case 'equal':
      return any(0, value => value === String(rule.value));
    case 'notEqual':
      return !any(0, value => value === String(rule.value));
    case 'in_list':
      return isListed(rule.value);
    case 'not_in_list':
      return !isListed(rule.value);
  }
}

/** The pattern of a condition, null where it has none. */
export const patternOf = (rule: Condition): string | null =>
  rule.operator === 'regex' || rule.operator === 'notRegex' ? rule.value : null;
