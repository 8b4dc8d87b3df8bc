import { patternCost } from './pattern-cost.ts';
import { PATTERN_COST_MAX, PATTERNS_COST_MAX, whyRefused } from './patterns.ts';

/** A pattern of a document, and its place there. */
export interface PlacedPattern {
  readonly pattern: string;
  readonly path: PropertyKey[];
}

export interface PatternFault {
  readonly path: PropertyKey[];
  readonly message: string;
}

/**
 * Patterns that are too large, or with which all together are; else those that RE2 refuses. None is compiled while any is
 * too large. A pattern that occurs more than once counts once.
 */
export function patternFaults(placed: readonly PlacedPattern[]): PatternFault[] {
  const distinct = new Map(placed.toReversed().map(({ pattern, path }) => [pattern, path]));
  const faults: PatternFault[] = [];
  let sum = 0;
  for (const [pattern, path] of [...distinct].toReversed()) {
    const cost = patternCost(pattern);
    const before = sum;
    if (cost > PATTERN_COST_MAX)
      faults.push({
        path,
        message: `is too large a regular expression (cost ${cost}, limit ${PATTERN_COST_MAX}); use lower repetition counts and fewer Unicode classes`,
      });
    else sum += cost;
    if (sum > PATTERNS_COST_MAX && before <= PATTERNS_COST_MAX)
      faults.push({
        path,
        message: `is one regular expression too many (cost of the document's so far ${sum}, limit ${PATTERNS_COST_MAX}); use shorter patterns, or in_list`,
      });
  }
  if (faults.length > 0) return faults;
  return [...distinct].toReversed().flatMap(([pattern, path]) => {
    const message = whyRefused(pattern);
    return message === null ? [] : [{ path, message }];
  });
}
