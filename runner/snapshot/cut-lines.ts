import { estimateTokens, startOf } from '../budget/estimate.ts';

/** A line of the text, and its number where all of the page is written. */
export interface Line {
  readonly text: string;
  readonly at: number;
}

export const joinLines = (lines: readonly Line[]): string => lines.map(({ text }) => text).join('\n');
export const indentOf = (line: Line | undefined): number => line?.text.search(/[^ ]/) ?? 0;

/** No more are counted than could fit. */
export function tokensIn(lines: readonly Line[], tokensMax: number): number {
  let tokens = 0;
  for (const { text } of lines) {
    tokens += estimateTokens(`${text}\n`);
    if (tokens > tokensMax) break;
  }
  return tokens;
}

/** A line of more than LONG_CHARACTERS may be shown in part, if LONG_TOKENS of it fit. */
export const LONG_CHARACTERS = 2_000;
const LONG_TOKENS = 100;
export function cutLines(lines: readonly Line[], tokensMax: number, isNumbered: boolean): string {
  const kept: string[] = [];
  let left = tokensMax;
  for (const { text } of lines) {
    const tokens = estimateTokens(`${text}\n`);
    if (tokens > left) break;
    left -= tokens;
    kept.push(text);
  }
  const missing = lines.slice(kept.length);
  const [next] = missing;
  if (next === undefined) return kept.join('\n');
  const begun = beginningOf(next.text, left);
  const tokens = estimateTokens(joinLines(missing).slice(begun.length));
  return [...kept, ...(begun === '' ? [] : [`${begun}…`]), cutNote(missing, next.at, tokens, isNumbered)].join('\n');
}

function cutNote(missing: readonly Line[], at: number, tokens: number, isNumbered: boolean): string {
  const way = isNumbered ? `browser_snapshot from ${at} reads on` : 'browser_snapshot with a target shows a part';
  return (
    `(cut: ${missing.length} more lines, about ${tokens} tokens; browser_find searches them, ${way}, ` +
    'a larger tokensMax shows more)'
  );
}

/** It would name another element. */
const HALF_REF = /\[(?:r|re|ref|ref=\w*)?$/;

/** The beginning of a long text; empty where there is no room for it. */
function beginningOf(line: string, tokensMax: number): string {
  if (line.length <= LONG_CHARACTERS || tokensMax < LONG_TOKENS) return '';
  return startOf(line, tokensMax).replace(HALF_REF, '');
}

/** A gap is described in about as many tokens. */
const GAP_TOKENS = 24;

/**
 * The lines within the tokens, with everything that can be acted on and what it lies in: other lines from one of them on are left out, and their places say
 * how they are read. Undefined: even those take more tokens.
 */
export function skimLines(lines: readonly Line[], tokensMax: number, isNumbered: boolean): string | undefined {
  const isKept = keptIn(lines);
  const costs = lines.map(({ text }) => estimateTokens(`${text}\n`));
  /** Tokens of all from each line on, where only kept ones are shown. */
  const rest = new Array<number>(lines.length + 1).fill(0);
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const isGap = !isKept[at] && (at === 0 || isKept[at - 1] === true);
    rest[at] = (rest[at + 1] ?? 0) + (isKept[at] ? (costs[at] ?? 0) : isGap ? GAP_TOKENS : 0);
  }
  const room = tokensMax - NOTE_TOKENS;
  if ((rest[0] ?? 0) > room) return undefined;
  let shown = 0;
  let before = 0;
  while (shown < lines.length && before + (costs[shown] ?? 0) + (rest[shown + 1] ?? 0) <= room) {
    before += costs[shown] ?? 0;
    shown += 1;
  }
  const next = lines[shown];
  const begun = next === undefined || isKept[shown] ? '' : beginningOf(next.text, room - before - (rest[shown] ?? 0));
  const told = lines.slice(0, shown).map(({ text }) => text);
  if (begun !== '') told.push(`${begun}…`);
  for (let at = shown; at < lines.length; ) {
    const end = isKept.indexOf(true, at);
    const gap = lines.slice(at, end < 0 ? lines.length : end);
    if (gap.length > 0) told.push(gapNote(gap, at === shown, isNumbered));
    at += gap.length;
    for (; at < lines.length && isKept[at]; at += 1) told.push(lines[at]?.text ?? '');
  }
  return told.join('\n');
}

const NOTE_TOKENS = 60;

/** Lines with refs, headings, and those that any of them lies in. */
function keptIn(lines: readonly Line[]): boolean[] {
  const isKept = lines.map(({ text }) => /\[ref=|^ *- heading /.test(text));
  let indent = -1;
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const own = indentOf(lines[at]);
    if (isKept[at]) indent = own;
    else if (own < indent) {
      isKept[at] = true;
      indent = own;
    }
  }
  return isKept;
}

function gapNote(gap: readonly Line[], isFirst: boolean, isNumbered: boolean): string {
  const [line] = gap as [Line, ...Line[]]; // a gap has one
  const indent = ' '.repeat(indentOf(line));
  if (isFirst) return `${indent}${cutNote(gap, line.at, estimateTokens(joinLines(gap)), isNumbered)}`;
  return `${indent}(cut: ${gap.length} lines${isNumbered ? `; browser_snapshot from ${line.at}` : ''})`;
}
