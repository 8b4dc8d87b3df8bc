import { RE2JS } from 're2js';
import * as z from 'zod';

const PATTERN_CHARS_MAX = 1000;
const compiled = new Map<string, RE2JS>();
const COMPILED_MAX = 1000;

/** Compiled once per pattern; RE2 runs in time linear in the text, so no pattern can hang a call. */
function re2(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (compiled.size >= COMPILED_MAX) compiled.clear();
  const made = RE2JS.compile(pattern);
  compiled.set(pattern, made);
  return made;
}

const regexText = z
  .string()
  .min(1)
  .max(PATTERN_CHARS_MAX)
  .superRefine((pattern, context) => {
    try {
      re2(pattern);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown error';
      context.addIssue({
        code: 'custom',
        message: `is not a valid RE2 regular expression (${why}); RE2 has no lookaround and no backreferences`,
      });
    }
  });

const scalar = z.union([z.string().max(10_000), z.number(), z.boolean()]);
const text = z.string().min(1).max(10_000);

/**
 * Where the value stands in the call's arguments: names joined by dots, `*` for every element (`fields.*.value`).
 * What lies below the path counts too.
 */
const argumentPath = z
  .string()
  .max(256)
  .regex(
    /^(?:[A-Za-z0-9_$-]+|\*)(?:\.(?:[A-Za-z0-9_$-]+|\*))*$/,
    'must be argument names joined by dots, e.g. "url" or "fields.*.value"',
  );

const on = <O extends string, V extends z.ZodType>(operator: O, value: V) =>
  z.strictObject({ path: argumentPath, operator: z.literal(operator), value });

/**
 * A test of one argument. A `not` operator is the exact opposite of its twin: it holds for an argument that is
 * absent.
 */
export const condition = z
  .discriminatedUnion('operator', [
    on('regex', regexText),
    on('notRegex', regexText),
    on('contains', text),
    on('notContains', text),
    on('startsWith', text),
    on('notStartsWith', text),
    on('endsWith', text),
    on('notEndsWith', text),
    on('equal', scalar),
    on('notEqual', scalar),
    on('in_list', z.array(scalar).min(1).max(1000)),
    on('not_in_list', z.array(scalar).min(1).max(1000)),
  ])
  .meta({ id: 'Condition' });
export type Condition = z.infer<typeof condition>;

const DEPTH_MAX = 32;

/** Every scalar at or below the path, as text. Only own properties count. */
export function valuesAt(root: unknown, path: string): string[] {
  let nodes: unknown[] = [root];
  for (const step of path.split('.')) nodes = nodes.flatMap(node => children(node, step));
  const found: string[] = [];
  const collect = (node: unknown, depth: number): void => {
    if (node === null || node === undefined || depth > DEPTH_MAX) return;
    if (typeof node === 'object') for (const child of Object.values(node)) collect(child, depth + 1);
    else found.push(String(node));
  };
  for (const node of nodes) collect(node, 0);
  return found;
}

function children(node: unknown, step: string): unknown[] {
  if (typeof node !== 'object' || node === null) return [];
  if (step === '*') return Object.values(node);
  const own = Object.getOwnPropertyDescriptor(node, step);
  return own && 'value' in own ? [own.value] : [];
}

/** Whether the condition holds; with several values at the path, a positive operator asks for any of them. */
export function holds(rule: Condition, callArguments: unknown): boolean {
  const values = valuesAt(callArguments, rule.path);
  const any = (test: (value: string) => boolean) => values.some(test);
  switch (rule.operator) {
    case 'regex':
      return any(value => re2(rule.value).matcher(value).find());
    case 'notRegex':
      return !any(value => re2(rule.value).matcher(value).find());
    case 'contains':
      return any(value => value.includes(rule.value));
    case 'notContains':
      return !any(value => value.includes(rule.value));
    case 'startsWith':
      return any(value => value.startsWith(rule.value));
    case 'notStartsWith':
      return !any(value => value.startsWith(rule.value));
    case 'endsWith':
      return any(value => value.endsWith(rule.value));
    case 'notEndsWith':
      return !any(value => value.endsWith(rule.value));
    case 'equal':
      return any(value => value === String(rule.value));
    case 'notEqual':
      return !any(value => value === String(rule.value));
    case 'in_list':
      return any(value => rule.value.some(item => String(item) === value));
    case 'not_in_list':
      return !any(value => rule.value.some(item => String(item) === value));
  }
}
