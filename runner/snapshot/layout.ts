import { beginning } from '../../contract/well-formed.ts';
import { estimateTokens, startOf } from '../budget/estimate.ts';
import { largest, TOKENS_DEFAULT } from '../budget/fit.ts';
import { type Outline, sizeOf } from './outline.ts';
import { proseOf } from './prose.ts';

/** How many of like elements are shown where not all of the page fits; links of a navigation, and buttons, only in the last two. */
const CAPS: readonly Caps[] = [
  { rows: 12, ways: Infinity },
  { rows: 8, ways: Infinity },
  { rows: 3, ways: Infinity },
  { rows: 3, ways: 12 },
  { rows: 3, ways: 3 },
];
const ALL: Caps = { rows: Infinity, ways: Infinity };

interface Caps {
  /** Of a list or a table. */
  readonly rows: number;
  /** Of ways to go on: within a navigation, and buttons anywhere. */
  readonly ways: number;
}
/** A line for the rest costs more than these. */
const SPARED_MIN = 3;
const OPTIONS_SHOWN = 12;
const ROW_LINES_MAX = 60;
const ADDRESS_CHARACTERS_MAX = 100;
/** A line of more characters may be shown in part, where there is room for so many tokens of it. */
export const LONG_CHARACTERS = 2_000;
const LONG_TOKENS = 100;
/** Fields are never equal: each is filled by itself. */
const NEVER_EQUAL = new Set([
  ...['text', 'textbox', 'searchbox', 'spinbutton', 'slider', 'combobox', 'checkbox', 'radio', 'switch', 'heading'],
  ...['paragraph', 'table', 'list', 'rowgroup', 'group', 'dialog', 'form', 'region', 'iframe'],
]);
/** Few of them say where an agent can go or what it can do. */
const WAYS = new Set(['button', 'tab', 'menuitem']);
/** Lines of code say less each than rows. */
const LINES_PER_ROW = 8;
const CELLS = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);

export interface LayoutOptions {
  readonly tokensMax: number;
  /** All of like elements, as far as the tokens go. */
  readonly all?: boolean;
  readonly depth?: number;
  /** The first line, from 1: what is above it was read before. */
  readonly from?: number;
  /** Whether an agent can read on by the number of a line. */
  readonly isNumbered?: boolean;
}

/** A line of the text, and its number where all of the page is written. */
interface Line {
  readonly text: string;
  readonly at: number;
}

/** The text of a snapshot within the tokens: all of it where that fits. Its end says what is not shown, and how it is read. */
export function layout(outline: readonly Outline[], options: LayoutOptions): string {
  const { tokensMax, all = false, depth = Infinity, from = 1, isNumbered = false } = options;
  const whole = writeLines(outline, { caps: ALL, depth, isNumbered });
  if (from > 1) return readOn(whole, from, tokensMax);
  const fits = (lines: readonly Line[]) => tokensIn(lines, tokensMax) <= tokensMax;
  if (fits(whole)) return join(whole);
  if (all) return cutLines(whole, tokensMax, isNumbered);
  const more = tokensMax > TOKENS_DEFAULT ? [mostRows(outline, { depth, isNumbered }, fits)] : [];
  let lines = whole;
  for (const caps of [...more, ...CAPS]) {
    lines = writeLines(outline, { caps, depth, isNumbered });
    if (fits(lines)) return join(lines);
  }
  return cutLines(lines, tokensMax, isNumbered);
}

const join = (lines: readonly Line[]): string => lines.map(({ text }) => text).join('\n');

/** No more are counted than could fit. */
function tokensIn(lines: readonly Line[], tokensMax: number): number {
  let tokens = 0;
  for (const { text } of lines) {
    tokens += estimateTokens(`${text}\n`);
    if (tokens > tokensMax) break;
  }
  return tokens;
}

const ROWS_MAX = 1_000;

/** The most rows of each list that fit into a budget which the agent raised. */
function mostRows(
  outline: readonly Outline[],
  { depth, isNumbered }: Pick<Writing, 'depth' | 'isNumbered'>,
  fits: (lines: readonly Line[]) => boolean,
): Caps {
  const caps = (rows: number): Caps => ({ rows, ways: Infinity });
  return caps(largest(ROWS_MAX, rows => fits(writeLines(outline, { caps: caps(rows), depth, isNumbered }))));
}

/** The lines from a number on, below those that they are in. */
function readOn(whole: readonly Line[], from: number, tokensMax: number): string {
  const rest = whole.slice(from - 1);
  if (rest.length === 0) return `(the snapshot has ${whole.length} lines)`;
  const around: Line[] = [];
  let indent = indentOf(rest[0]);
  for (const line of whole.slice(0, from - 1).reverse()) {
    if (indentOf(line) >= indent) continue;
    around.unshift({ ...line, text: beginning(line.text, AROUND_CHARACTERS_MAX) });
    indent = indentOf(line);
  }
  return cutLines([...around, ...rest], tokensMax, true);
}

const AROUND_CHARACTERS_MAX = 200;
const indentOf = (line: Line | undefined): number => line?.text.search(/[^ ]/) ?? 0;

function cutLines(lines: readonly Line[], tokensMax: number, isNumbered: boolean): string {
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
  const tokens = estimateTokens(join(missing).slice(begun.length));
  const way = isNumbered ? `browser_snapshot from ${next.at} reads on` : 'browser_snapshot with a target shows a part';
  return [
    ...kept,
    ...(begun === '' ? [] : [`${begun}…`]),
    `(cut: ${missing.length} more lines, about ${tokens} tokens; browser_find searches them, ${way}, ` +
      'a larger tokensMax shows more)',
  ].join('\n');
}

/** It would name another element. */
const HALF_REF = /\[(?:r|re|ref|ref=\w*)?$/;

/** The beginning of a long text; empty where there is no room for it. */
function beginningOf(line: string, tokensMax: number): string {
  if (line.length <= LONG_CHARACTERS || tokensMax < LONG_TOKENS) return '';
  return startOf(line, tokensMax).replace(HALF_REF, '');
}

interface Writing {
  readonly caps: Caps;
  readonly depth: number;
  readonly isNumbered: boolean;
}

function writeLines(outline: readonly Outline[], writing: Writing): Line[] {
  const lines: Line[] = [];
  let at = 1;
  const write = (each: Outline, indent: number, isWay: boolean): void => {
    const { line, children } = inOneLine(each);
    lines.push({ text: `${' '.repeat(indent)}- ${line}`, at });
    at += 1;
    writeAll(children, indent + 1, isWay || each.role === 'navigation');
  };
  const writeAll = (all: readonly Outline[], indent: number, isWay: boolean): void => {
    if (indent >= writing.depth) return;
    for (const run of runs(all)) {
      const { role } = run[0] as Outline; // a run has an element
      const rows = role === 'line' ? LINES_PER_ROW * writing.caps.rows : writing.caps.rows;
      const cap = isWay || WAYS.has(role) ? writing.caps.ways : rows;
      const shown = run.length <= cap + SPARED_MIN ? run : run.slice(0, cap);
      for (const each of shown) write(each, indent, isWay);
      const more = run.slice(shown.length);
      if (more.length === 0) continue;
      const way = writing.isNumbered
        ? `browser_snapshot from ${at} or browser_find shows them`
        : 'browser_find finds each';
      lines.push({ text: `${' '.repeat(indent)}(${more.length} more of ${role}; ${way})`, at });
      for (const each of more) at += linesOf(each, indent, writing.depth);
    }
  };
  writeAll(outline, 0, false);
  return lines;
}

/** How many lines an element takes. */
function linesOf(each: Outline, indent: number, depth: number): number {
  if (indent + 1 >= depth) return 1;
  return inOneLine(each).children.reduce((sum, child) => sum + linesOf(child, indent + 1, depth), 1);
}

/** Neighbours that are equal in kind and lie in one element. */
function runs(lines: readonly Outline[]): Outline[][] {
  const all: Outline[][] = [];
  for (const each of lines) {
    const last = all.at(-1);
    const [like] = last ?? [];
    if (like?.role === each.role && like.within === each.within && !NEVER_EQUAL.has(each.role)) last?.push(each);
    else all.push([each]);
  }
  return all;
}

/** Rows, lists of options and addresses, each in the line of their element. */
function inOneLine(each: Outline): Outline {
  if (
    each.role === 'row' &&
    each.children.length > 0 &&
    each.children.every(({ role }) => CELLS.has(role)) &&
    sizeOf(each) <= ROW_LINES_MAX
  )
    return { ...each, line: rowLine(each), children: [] };
  const prose = proseOf(each);
  if (prose !== undefined) return { ...each, line: prose.line, children: [] };
  const options = each.children.filter(({ role, ref }) => role === 'option' && ref === undefined);
  if (options.length > 0 && options.length === each.children.length)
    return { ...each, line: `${each.line}: ${optionList(options)}`, children: [] };
  const address = each.children.find(({ role }) => role === '/url');
  if (address === undefined) return each;
  const url = address.line.slice('/url: '.length);
  const short = url.length > ADDRESS_CHARACTERS_MAX ? `${url.slice(0, ADDRESS_CHARACTERS_MAX)}…` : url;
  return { ...each, line: `${each.line} ${short}`, children: each.children.filter(child => child !== address) };
}

/** The text of a line, then its states and its ref; a cell, a text and an option are written without their role. */
const said = (line: string): string =>
  line.replace(SAYING, (_all, marks: string, text = '') => (text === '' ? marks.trim() : `${text}${marks}`));

const SAYING = /^(?:text|cell|gridcell|columnheader|rowheader|option)((?: \[[^\]]*\])*)(?:: (.*))?$/s;

function rowLine({ line, children }: Outline): string {
  const flat = (each: Outline): string[] => {
    const { line: own, children: below } = inOneLine(each);
    return [said(own), ...below.flatMap(flat)].filter(text => text !== '');
  };
  return `${line}: ${children.map(cell => flat(cell).join(' ')).join(' | ')}`;
}

const SELECTED = ' [selected]';
const offered = ({ line }: Outline): string => said(line.replace(SELECTED, ''));

/** The chosen one first. */
function optionList(options: readonly Outline[]): string {
  const chosen = options.filter(({ line }) => line.includes(SELECTED)).map(offered);
  const shown = options.slice(0, OPTIONS_SHOWN).map(offered);
  const more = options.length > shown.length ? ` | (${options.length - shown.length} more)` : '';
  return `${chosen.join(', ')} (of ${shown.join(' | ')}${more})`;
}
