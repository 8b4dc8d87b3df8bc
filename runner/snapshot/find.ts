import { partOf } from '../../contract/well-formed.ts';
import { estimateTokens } from '../budget/estimate.ts';
import { LONG_CHARACTERS } from './cut-lines.ts';
import { foldText } from './fold-text.ts';
import { layout } from './layout.ts';
import { type Outline, sizeOf } from './outline.ts';
import { proseOf } from './prose.ts';

/** A text in any case, or a regular expression, for the lines of a page. */
export type Pattern = { readonly text: string } | { readonly regex: string; readonly flags: string };

/** The index at which the first match in a line begins; -1: there is none. */
type Matcher = (line: string) => number;

export function matcherOf(pattern: Pattern): Matcher {
  if ('text' in pattern) {
    const wanted = foldText(pattern.text);
    const lower = (wanted.trim() === '' ? pattern.text : wanted).toLowerCase();
    return line => line.toLowerCase().indexOf(lower);
  }
  const compiled = compile(pattern);
  return line => line.search(compiled);
}

const compile = ({ regex, flags }: Exclude<Pattern, { text: string }>) => new RegExp(regex, flags);
const nameOf = (pattern: Pattern): string => ('text' in pattern ? `"${pattern.text}"` : String(compile(pattern)));

/** A longer one is no pattern of a person, and takes long to compile. */
const REGEX_CHARACTERS_MAX = 1_000;

/** A pattern as an agent writes it, alone or with flags between slashes; undefined: it is none, or too long. */
export function regexOf(given: string): Pattern | undefined {
  if (given.length > REGEX_CHARACTERS_MAX) return undefined;
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(given) ?? [];
  const pattern = { regex: source ?? given, flags: (flags ?? '').replace(/[gy]/g, '') };
  try {
    compile(pattern);
    return pattern;
  } catch {
    return undefined;
  }
}

/** A match is shown with all of these around it, if that is short. */
const UNITS = new Set(['row', 'listitem', 'article', 'option', 'menuitem', 'group', 'card', 'radiogroup', 'dialog']);
const UNIT_LINES_MAX = 30;
const NOTE_TOKENS = 60;
const NEAR_CHARACTERS = 300;
/** Each looks through the rest of its line. */
const NEAR_MAX = 20;

interface Found {
  readonly shown: Outline;
  /** Names of what it is in, outermost first. */
  readonly path: readonly string[];
}

/** The lines that match, each with what belongs to it and every ref, within the tokens. */
export function findInOutline(outline: readonly Outline[], pattern: Pattern, tokensMax: number): string {
  const [name, at] = [nameOf(pattern), matcherOf(pattern)];
  const found: Found[] = [];
  const units = new Set<Outline>();
  let count = 0;
  const look = (lines: readonly Outline[], path: readonly string[], unit?: Found): void => {
    for (const each of lines) {
      const code = matchesInCode(each, at);
      if (code !== undefined) {
        count += code.count;
        found.push(...code.parts.map(shown => ({ shown, path })));
        continue;
      }
      const isUnit = UNITS.has(each.role) && sizeOf(each) <= UNIT_LINES_MAX;
      const around = unit ?? (isUnit ? { shown: each, path } : undefined);
      const prose = proseOf(each);
      const near = nearMatches(prose?.text ?? withoutRef(each.line), at);
      count += near.length;
      if (near.length > 0 && each.line.length > LONG_CHARACTERS)
        found.push({ shown: { ...each, line: `${headOf(each)}: ${near.join(' ')}`, children: [] }, path });
      else if (near.length > 0) {
        const shown = around ?? { shown: sizeOf(each) <= UNIT_LINES_MAX ? each : { ...each, children: [] }, path };
        if (!units.has(shown.shown)) found.push(shown);
        units.add(shown.shown);
      }
      if (prose === undefined || near.length === 0) look(each.children, [...path, headOf(each)], around);
    }
  };
  look(outline, []);
  if (count === 0) return `No matches found for ${name}.`;
  const head = `Found ${count} ${count === 1 ? 'match' : 'matches'} for ${name}:`;
  return [head, ...within(found, tokensMax - estimateTokens(head) - NOTE_TOKENS)].join('\n');
}

const LINES_AROUND = 2;

/** Lines of preformatted text that match, with those around them, and how many match; undefined: the element has none. */
function matchesInCode(each: Outline, at: Matcher): { count: number; parts: Outline[] } | undefined {
  if (each.children[0]?.role !== 'line') return undefined;
  const matching = each.children.flatMap(({ line }, n) => (nearMatches(line, at).length > 0 ? [n] : []));
  const spans: { from: number; to: number }[] = [];
  for (const n of matching) {
    const [from, to] = [Math.max(0, n - LINES_AROUND), n + LINES_AROUND + 1];
    const last = spans.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else spans.push({ from, to });
  }
  const parts = spans.map(({ from, to }) => ({ ...each, children: each.children.slice(from, to) }));
  return { count: matching.length, parts };
}

/** The line where it matches, folded or as it is; of a long one the places in it that do, each with what is near. */
function nearMatches(given: string, at: Matcher): string[] {
  const folded = foldText(given);
  const line = at(folded) < 0 ? given : folded;
  if (line.length <= LONG_CHARACTERS) return at(line) < 0 ? [] : [line];
  const near: string[] = [];
  for (let from = 0; from < line.length && near.length < NEAR_MAX; ) {
    const rest = line.slice(from);
    const start = at(rest);
    if (start < 0) break;
    near.push(`…${partOf(rest, start - NEAR_CHARACTERS, start + NEAR_CHARACTERS)}…`);
    from += start + NEAR_CHARACTERS;
  }
  return near;
}

function within(found: readonly Found[], tokensMax: number): string[] {
  const lines: string[] = [];
  let left = tokensMax;
  let before = '';
  for (const [index, { shown, path }] of found.entries()) {
    const where = path.slice(-PATH_MAX).join(' > ');
    const text = layout([withRefs(shown)], { tokensMax: Math.max(left, 1), all: true });
    const block = where === before || where === '' ? text : `in ${where}\n${text}`;
    left -= estimateTokens(`${block}\n`);
    if (left < 0 && index > 0)
      return [
        ...lines,
        `(cut: ${found.length - index} more; a longer text has fewer matches, a larger tokensMax shows more)`,
      ];
    lines.push(block);
    before = where;
  }
  return lines;
}

const PATH_MAX = 3;

/** Its role and name. */
const headOf = ({ line }: Outline): string => /^[^ :]+(?: "(?:[^"\\]|\\.)*")?/.exec(line)?.[0] ?? line;

/** With the refs that a snapshot leaves out: of what is only sometimes acted on. */
const withRefs = (each: Outline): Outline => ({
  ...each,
  line: each.ref === undefined || each.line.includes(`[ref=${each.ref}]`) ? each.line : withRef(each.line, each.ref),
  children: each.children.map(withRefs),
});

/** A ref is a name of ours: a number that is looked for is no part of it. */
const withoutRef = (line: string): string => line.replace(/ \[ref=\w+\]/, '');

const withRef = (line: string, ref: string): string => {
  const head = /^[^ :]+(?: "(?:[^"\\]|\\.)*")?(?: \[[^\]]*\])*/.exec(line)?.[0] ?? '';
  return `${head} [ref=${ref}]${line.slice(head.length)}`;
};
