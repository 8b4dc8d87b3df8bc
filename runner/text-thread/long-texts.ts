import { type FitBounds, fitTexts, type SafeText } from '../budget/fit.ts';
import type { Redactor } from '../reporting/redact.ts';
import { textThread } from './text-thread.ts';

/** Work on texts of any length, as pages make them: a long one does not hold the runner's thread. */
export interface LongTexts {
  /** As the redactor's; `words`: the names that `isWord` is true of. */
  redact(text: string, words: readonly string[]): Promise<string>;
  holds(text: string, signal?: AbortSignal): Promise<boolean>;
  holdsEach(texts: readonly string[]): Promise<boolean[]>;
  fit(texts: readonly SafeText[], bounds: FitBounds): Promise<string[]>;
}

/** A shorter text takes 5 to 130 ms on the runner's own thread, by what is in it, and no second thread to start. */
export const SHORT_CHARACTERS = 32_000;
/** The longest text takes about 4 s. */
const SECONDS = 15;

export function longTexts(redactor: Redactor): LongTexts {
  const thread = textThread({ seconds: SECONDS });
  const areShort = (texts: readonly string[]) => texts.reduce((sum, { length }) => sum + length, 0) <= SHORT_CHARACTERS;

  async function holdsEach(texts: readonly string[], signal?: AbortSignal): Promise<boolean[]> {
    const values = redactor.values();
    if (areShort(texts) || values.length === 0) return texts.map(redactor.holds);
    return thread.run('holds', { texts, values }, signal);
  }

  return {
    async redact(text, words) {
      const values = redactor.values();
      return areShort([text]) || values.length === 0
        ? redactor.redactWords(text, name => words.includes(name))
        : thread.run('redact', { text, values, words });
    },
    holds: async (text, signal) => (await holdsEach([text], signal))[0] === true,
    holdsEach: texts => holdsEach(texts),
    fit: async (texts, bounds) =>
      areShort(texts.map(({ text }) => text)) ? fitTexts(texts, bounds) : thread.run('fit', { texts, bounds }),
  };
}
