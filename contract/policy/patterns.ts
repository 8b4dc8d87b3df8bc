import { RE2JS } from 're2js';
import { patternCost } from './pattern-cost.ts';

export const PATTERN_CHARS_MAX = 1000;
/** Some 50 ms to compile; `.{0,1000}` fits. */
export const PATTERN_COST_MAX = 2500;
/** Limit of all patterns of a document together, each counted once. */
export const PATTERNS_COST_MAX = 10_000;

/** Measured with re2js 2.10: 130 bytes of program, the rest is the state of a search. */
const BYTES_PER_COST = 400;
const PROGRAM_BYTES = 4000;
/** Two documents of every layer fit, and the pods of controller and console have 512 MiB. */
const COMPILED_BYTES_MAX = 32 * 1024 * 1024;
const CHECKED_CHARS_MAX = 4_000_000;

export interface CompiledPattern {
  readonly program: RE2JS;
  /** As `patternCost` says: steps of a search for each character. */
  readonly cost: number;
}

/** By pattern, the one used last at the end. */
const compiled = new Map<string, CompiledPattern>();
let compiledBytes = 0;
/** Why RE2 refuses a pattern, or null. Kept longer than programs: stored documents are read far more often than applied. */
const checked = new Map<string, string | null>();
let checkedChars = 0;

const bytesOf = ({ cost }: CompiledPattern): number => PROGRAM_BYTES + BYTES_PER_COST * cost;

/** RE2 runs in time linear in the text, so no pattern can hang a call. Throws when RE2 refuses the pattern. */
export function compilePattern(pattern: string): CompiledPattern {
  const known = compiled.get(pattern);
  if (known) {
    compiled.delete(pattern);
    compiled.set(pattern, known);
    return known;
  }
  const made = { program: RE2JS.compile(pattern), cost: patternCost(pattern) };
  compiled.set(pattern, made);
  compiledBytes += bytesOf(made);
  for (const [oldest, program] of compiled) {
    if (compiledBytes <= COMPILED_BYTES_MAX) break;
    compiled.delete(oldest);
    compiledBytes -= bytesOf(program);
  }
  return made;
}

/** Why RE2 refuses the pattern, null when it does not. Call it only for what `PATTERN_COST_MAX` admits. */
export function whyRefused(pattern: string): string | null {
  const known = checked.get(pattern);
  if (known !== undefined) return known;
  let fault: string | null = null;
  try {
    compilePattern(pattern);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown error';
    fault = `is not a valid RE2 regular expression (${why}); RE2 has no lookaround and no backreferences`;
  }
  if (checkedChars + pattern.length > CHECKED_CHARS_MAX) {
    checked.clear();
    checkedChars = 0;
  }
  checked.set(pattern, fault);
  checkedChars += pattern.length;
  return fault;
}
