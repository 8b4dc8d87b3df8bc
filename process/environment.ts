import * as z from 'zod';
import { findUnknownSettings } from './unknown-settings.ts';

/** Settings of a program by field: the environment variable that holds each, and what it must look like. */
export type Variables = Readonly<Record<string, readonly [name: string, schema: z.ZodType]>>;

export type SettingsOf<V extends Variables> = { readonly [Field in keyof V]: z.output<V[Field][1]> };

/** The fault of one variable: `[name, what it must be]`. */
export type Fault = readonly [name: string, why: string];

/** Thrown for a wrong environment. The message has one line for each variable that is missing or wrong, and no value of a secret. */
export class EnvironmentError extends Error {
  readonly faults: readonly Fault[];

  constructor(program: string, faults: readonly Fault[]) {
    super(`The ${program} cannot start:\n${faults.map(([name, why]) => `  ${name} ${why}`).join('\n')}`);
    this.name = 'EnvironmentError';
    this.faults = faults;
  }
}

/**
 * Reads a program's settings from its environment. An empty variable counts as missing; one that is named as a setting and is none is
 * a fault. `rules` judge what no variable shows alone. Throws EnvironmentError.
 */
export function parseEnvironment<const V extends Variables>(
  program: string,
  variables: V,
  environment: Readonly<Record<string, unknown>>,
  rules: (settings: SettingsOf<V>) => readonly Fault[] = () => [],
): SettingsOf<V> {
  const faults: Fault[] = findUnknownSettings(environment).map(({ name, nearest }) => [
    name,
    `is no setting; did you mean ${nearest}? Correct or unset it`,
  ]);
  const settings: Record<string, unknown> = {};
  for (const [field, [name, schema]] of Object.entries(variables)) {
    const value = environment[name] === '' ? undefined : environment[name];
    const parsed = schema.safeParse(value);
    if (parsed.success) settings[field] = parsed.data;
    else if (value === undefined) faults.push([name, 'is not set']);
    else faults.push([name, `is wrong: ${[...new Set(parsed.error.issues.map(issue => issue.message))].join('; ')}`]);
  }
  const whole = settings as SettingsOf<V>; // every field was parsed by its own schema, or there is a fault
  if (faults.length === 0) faults.push(...rules(whole));
  if (faults.length > 0) throw new EnvironmentError(program, faults);
  return whole;
}

/** A fault of a number, with the number: another text may be a secret that was put into the wrong variable. */
const boundError =
  (bounds: string) =>
  ({ input }: { input?: unknown }) =>
    Number.isFinite(input) ? `must be ${bounds}, and is ${input}` : `must be ${bounds}`;

/** A whole number. */
export const integer = (min: number, max: number) => {
  const error = boundError(`a whole number from ${min} to ${max}`);
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
};

/** A number, such as seconds with a fraction. */
export const decimal = (min: number, max: number) => {
  const error = boundError(`a number from ${min} to ${max}`);
  return z.coerce.number({ error }).min(min, { error }).max(max, { error });
};

/** A TCP port; 0: any free one. */
export const portSchema = () => integer(0, 65_535);

/** One of these words. */
export const choice = <const W extends readonly [string, ...string[]]>(...words: W) =>
  z.enum(words, { error: `must be one of ${words.join(', ')}` });

/** An http or https URL, without a slash at its end. */
export const httpUrl = () =>
  z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).transform(text => text.replace(/\/+$/, ''));

/** Words joined by commas or white space; none when the variable is not set. */
export const wordsSchema = () =>
  z
    .string()
    .default('')
    .transform(text => text.split(/[\s,]+/).filter(word => word !== ''));

/** Origins of web pages, joined by commas or white space; none when the variable is not set. */
export const originsSchema = () =>
  wordsSchema().superRefine((words, context) => {
    const wrong = words.find(word => !/^https?:/.test(word) || URL.parse(word)?.origin !== word);
    if (wrong !== undefined)
      context.addIssue({
        code: 'custom',
        message: `must be origins such as https://host:8443, comma-separated: "${wrong}" is no origin`,
      });
  });

/** A shared secret for HS256: <https://www.rfc-editor.org/rfc/rfc7518#section-3.2>. */
export const sharedSecret = () =>
  z.string().refine(text => Buffer.byteLength(text) >= 32, { error: 'must have at least 32 bytes' });

/** The result of `read` for the text; its error becomes a fault of the variable, which names `what` and never the text. */
export const derivedSetting = <T>(what: string, read: (text: string) => T) =>
  z.string().transform((text, context) => {
    try {
      return read(text);
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
      context.issues.push({ code: 'custom', message: `must be ${what}${code}`, input: undefined });
      return z.NEVER;
    }
  });

/** The variables of these names that are set. */
export const pickVariables = (
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    names.flatMap(name => {
      const value = environment[name];
      return value ? [[name, value]] : [];
    }),
  );
