import { type FitBounds, fitTexts, type SafeText } from '../budget/fit.ts';
import { type Redactor, redactorOf, type SecretValue } from '../reporting/redact.ts';
import { findInOutline, matcherOf, type Pattern } from '../snapshot/find.ts';
import { foldText } from '../snapshot/fold-text.ts';
import { type LayoutOptions, layout } from '../snapshot/layout.ts';
import { type Outline, outlineOf } from '../snapshot/outline.ts';

let known: { readonly key: string; readonly redactor: Redactor } | undefined;

/** Spelling a secret in every way takes milliseconds: they rarely change. */
function redactorFor(values: readonly SecretValue[]): Redactor {
  const key = JSON.stringify(values);
  if (known?.key !== key) known = { key, redactor: redactorOf(values) };
  return known.redactor;
}

/** Work on a text whose length, or whose pattern, a page or an agent chose. */
export const JOBS = {
  find: ({ outline, pattern, tokensMax }: { outline: readonly Outline[]; pattern: Pattern; tokensMax: number }) =>
    findInOutline(outline, pattern, tokensMax),
  layout: ({ outline, options }: { outline: readonly Outline[]; options: LayoutOptions }) => layout(outline, options),
  outline: ({ tree, options }: { tree: Parameters<typeof outlineOf>[0]; options: Parameters<typeof outlineOf>[1] }) =>
    outlineOf(tree, options),
  /** Whether each text matches. */
  matches({ texts, pattern }: { texts: readonly string[]; pattern: Pattern }): boolean[] {
    const at = matcherOf(pattern);
    return texts.map(text => at(text) >= 0 || at(foldText(text)) >= 0);
  },
  redact: ({
    text,
    values,
    words,
  }: {
    text: string;
    values: readonly SecretValue[];
    words: readonly string[];
  }): string => redactorFor(values).redactWords(text, name => words.includes(name)),
  /** Whether each text holds a secret. */
  holds({ texts, values }: { texts: readonly string[]; values: readonly SecretValue[] }): boolean[] {
    return texts.map(text => redactorFor(values).holds(text));
  },
  fit: ({ texts, bounds }: { texts: readonly SafeText[]; bounds: FitBounds }): string[] => fitTexts(texts, bounds),
};

export type JobName = keyof typeof JOBS;
export type JobInput<Name extends JobName> = Parameters<(typeof JOBS)[Name]>[0];
export type JobOutput<Name extends JobName> = ReturnType<(typeof JOBS)[Name]>;

/** A message to the thread. */
export interface Order {
  readonly name: JobName;
  readonly input: unknown;
}

/** The thread's answer. */
export type Answer = { readonly output: unknown } | { readonly error: string };
