/** Sizes are instructions of the compiled program, or the work of as many: some 10 µs to compile, 400 bytes to keep. */
interface Group {
  /** Cost of everything in the group so far. */
  size: number;
  /** Cost of its last element, which a repetition multiplies. */
  last: number;
}

const GROUP_START = /\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:))?/y;
const FLAGS = /\(\?[a-zA-Z-]*\)/y;
const QUOTED = /\\Q(.*?)(?:\\E|$)/suy;
const UNICODE_CLASS = /\\[pP](?:\{[^}]*\}|.)/suy;
const ESCAPE = /\\(?:x\{[0-9a-fA-F]*\}|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)/suy;
const REPEAT = /\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/y;
const NAMED_CLASS = /\[:\^?\w+:\]/y;
const ONE = /./suy;

/** A group: its two marks, and an instruction that does nothing where it is empty. */
const GROUP = 3;
/** The choice, and an instruction that does nothing where one of the two is empty. */
const ALTERNATIVE = 2;
/** A Unicode category has up to 700 ranges: each use is read once, and each copy of it is searched at every character. */
const UNICODE_CLASS_ONCE = 200;
const UNICODE_CLASS_EACH = 20;
/** Under `(?i)` RE2JS folds the characters of a range one by one; ranges of a script are short. */
const RANGE_CHARS_PER_UNIT = 100;

/**
 * At least the number of instructions that RE2 makes of a pattern, found in one pass without compiling it: a pattern of
 * ten characters can compile to a million. Reads a pattern that is not valid too; RE2 then says why.
 */
export function patternCost(pattern: string): number {
  let at = 0;
  let once = 0;
  const groups: Group[] = [{ size: GROUP, last: 0 }];
  const take = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at;
    const found = expression.exec(pattern);
    if (found) at = expression.lastIndex;
    return found;
  };
  const current = (): Group => groups.at(-1) as Group; // the first one is never closed
  const add = (size: number): void => {
    current().size += size;
    current().last = size;
  };
  const repeat = (copies: number, more: number): void => {
    const group = current();
    const repeated = group.last * copies + more;
    group.size += repeated - group.last;
    group.last = repeated;
  };

  while (at < pattern.length) {
    const quoted = take(QUOTED);
    if (quoted) for (const _character of quoted[1] ?? '') add(1);
    else if (take(UNICODE_CLASS)) {
      once += UNICODE_CLASS_ONCE;
      add(UNICODE_CLASS_EACH);
    } else if (take(ESCAPE)) add(1);
    else if (take(FLAGS))
      continue; // a repetition after it is of the element before it
    else if (take(GROUP_START)) groups.push({ size: GROUP, last: 0 });
    else if (pattern[at] === '[') {
      const charClass = classCost(pattern, at);
      at = charClass.end;
      once += charClass.once;
      add(charClass.each);
    } else {
      const repetition = take(REPEAT);
      if (repetition) {
        const [, least, comma, most = least] = repetition;
        const copies = Math.max(Number(least), Number(most), 1);
        repeat(copies, comma ? copies + 2 : 2);
      } else {
        const [character] = take(ONE) ?? [];
        if (character === undefined) at++;
        else if (character === '*' || character === '+' || character === '?') repeat(1, 2);
        else if (character === ')' && groups.length > 1) add(groups.pop()?.size ?? 0);
        else if (character === '|') add(ALTERNATIVE);
        else add(1);
      }
    }
  }
  return once + groups.reduce((sum, { size }) => sum + size, 0);
}

/** Cost of the class that starts at `[`, up to its `]` or the end of the pattern. */
function classCost(pattern: string, start: number): { end: number; once: number; each: number } {
  let at = start + 1;
  let once = 1;
  let each = 1;
  const take = (expression: RegExp): string | undefined => {
    expression.lastIndex = at;
    const [found] = expression.exec(pattern) ?? [];
    if (found !== undefined) at = expression.lastIndex;
    return found;
  };
  if (pattern[at] === '^') at++;
  const first = at;
  let before: number | undefined;
  while (at < pattern.length && (pattern[at] !== ']' || at === first)) {
    if (take(UNICODE_CLASS)) {
      once += UNICODE_CLASS_ONCE;
      each += UNICODE_CLASS_EACH;
      before = undefined;
    } else if (take(NAMED_CLASS)) before = undefined;
    else if (before !== undefined && pattern[at] === '-' && pattern[at + 1] !== ']') {
      at++;
      const last = characterOf(take(ESCAPE) ?? take(ONE) ?? '');
      once += 1 + Math.max(0, last - before) / RANGE_CHARS_PER_UNIT;
      before = undefined;
    } else {
      before = characterOf(take(ESCAPE) ?? take(ONE) ?? '');
      once += 1;
    }
  }
  return { end: at + 1, once: Math.ceil(once), each };
}

/** The code point that a character or an escape of one stands for. */
function characterOf(text: string): number {
  const [, hex] = /^\\x\{?([0-9a-fA-F]+)\}?$/.exec(text) ?? [];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  const [, octal] = /^\\([0-7]+)$/.exec(text) ?? [];
  if (octal !== undefined) return Number.parseInt(octal, 8);
  return text.codePointAt(text.startsWith('\\') && text.length > 1 ? 1 : 0) ?? 0;
}
