/** Arguments that are parsed on the runner's thread: selectors and patterns. Real ones are shorter. */
const PARSED: ReadonlySet<string> = new Set([
  'endTarget',
  'filter',
  'key',
  'regex',
  'selector',
  'startTarget',
  'target',
]);
const PARSED_CHARACTERS_MAX = 4_000;
/** Texts to type, scripts, addresses with data. */
const CHARACTERS_MAX = 1_000_000;

/** The fault of the first argument that is too long; undefined: none is. */
export function tooLong(args: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(args)) {
    const max = PARSED.has(name) ? PARSED_CHARACTERS_MAX : CHARACTERS_MAX;
    if (typeof value === 'string' && value.length > max)
      return `"${name.slice(0, 100)}" has ${value.length} characters; at most ${max} are taken.`;
    // Lists too: their indices are names here.
    const inner = typeof value === 'object' && value !== null ? tooLong(value as Record<string, unknown>) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}
