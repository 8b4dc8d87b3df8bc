import { beginning } from '../../contract/well-formed.ts';
import { estimateTokens } from '../budget/estimate.ts';
import { findLargest, TOKENS_DEFAULT } from '../budget/fit.ts';
import { cutLines, indentOf, joinLines, type Line, skimLines, tokensIn } from './cut-lines.ts';
import { type Outline, sizeOf } from './outline.ts';
import { proseOf } from './prose.ts';

/** How many of like elements are shown where not all of the page fits. */
interface Caps {
  /** Rows of a list or a table. */
  readonly rows: number;
  /** Those with nothing in them that can be acted on. */
  readonly idle: number;
  /** Rows that would take several times the tokens there are: an agent searches them. */
  readonly searched: number;
  /** Ways to go on: links within a navigation, and buttons anywhere. */
  readonly ways: number;
}
const ALL: Caps = { rows: Infinity, idle: Infinity, searched: Infinity, ways: Infinity };
const CAP_MAX = 1_000;
const SEARCHED = 12;
/** Caps beside which ends of texts are left out; fewer rows do not say what the others are like. */
const SKIMMED: readonly Caps[] = [
  { rows: SEARCHED, idle: SEARCHED, searched: SEARCHED, ways: Infinity },
  { rows: 3, idle: 3, searched: 3, ways: Infinity },
  { rows: 3, idle: 3, searched: 3, ways: SEARCHED },
];
const LEAST: Caps = { rows: 3, idle: 3, searched: 3, ways: 3 };
/** How many times the tokens there are. */
const SEARCHED_SHARE = 2;
/** A line for the rest costs more than these. */
const SPARED_MIN = 3;
const OPTIONS_SHOWN = 12;
const ROW_LINES_MAX = 60;
const ADDRESS_CHARACTERS_MAX = 100;
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

/** The text of a snapshot within the tokens: all of it where that fits. Its end says what is not shown, and how it is read. */
export function layout(outline: readonly Outline[], options: LayoutOptions): string {
  const { tokensMax, all = false, depth = Infinity, from = 1, isNumbered = false } = options;
  const whole = writeLines(outline, { caps: ALL, depth, isNumbered });
  if (from > 1) return readOn(whole, from, tokensMax);
  if (tokensIn(whole, tokensMax) <= tokensMax) return joinLines(whole);
  if (all) return cutLines(whole, tokensMax, isNumbered);
  const isSearched = tokensMax > TOKENS_DEFAULT ? undefined : isLonger(SEARCHED_SHARE * tokensMax);
  const write = (caps: Caps, stopsAt?: number) => writeLines(outline, { caps, depth, isNumbered, isSearched, stopsAt });
  // Rows are left out first, of the longest runs of them, those without controls before others; then texts, then ways to go on.
  const capped: readonly ((cap: number) => Caps)[] = [
    cap => ({ rows: Infinity, idle: cap, searched: SEARCHED, ways: Infinity }),
    cap => ({ rows: cap, idle: Math.min(cap, SEARCHED), searched: SEARCHED, ways: Infinity }),
  ];
  for (const capsOf of capped) {
    const fits = (cap: number): boolean => tokensIn(write(capsOf(cap), tokensMax), tokensMax) <= tokensMax;
    if (fits(SEARCHED)) return joinLines(write(capsOf(findLargest(CAP_MAX, fits))));
  }
  for (const caps of SKIMMED) {
    const text = skimLines(write(caps), tokensMax, isNumbered);
    if (text !== undefined) return text;
  }
  return cutLines(write(LEAST), tokensMax, isNumbered);
}

/** Whether a run of like elements takes more tokens than these. */
function isLonger(tokensMax: number): (run: readonly Outline[]) => boolean {
  const known = new WeakMap<Outline, boolean>();
  const tokensOf = (each: Outline): number => {
    const { line, children } = inOneLine(each);
    return children.reduce((sum, child) => sum + tokensOf(child), estimateTokens(`- ${line}\n`));
  };
  return run => {
    const first = run[0] as Outline; // a run has an element
    const before = known.get(first);
    if (before !== undefined) return before;
    let tokens = 0;
    const longer = run.some(each => {
      tokens += tokensOf(each);
      return tokens > tokensMax;
    });
    known.set(first, longer);
    return longer;
  };
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

interface Writing {
  readonly caps: Caps;
  readonly depth: number;
  readonly isNumbered: boolean;
  /** Whether a run is one that agents search. */
  readonly isSearched?: ((run: readonly Outline[]) => boolean) | undefined;
  /** The lines end soon after these tokens. */
  readonly stopsAt?: number | undefined;
}

function writeLines(outline: readonly Outline[], writing: Writing): Line[] {
  const lines: Line[] = [];
  let at = 1;
  let left = writing.stopsAt ?? Infinity;
  const push = (text: string): void => {
    lines.push({ text, at });
    if (left !== Infinity) left -= estimateTokens(`${text}\n`);
  };
  const write = (each: Outline, indent: number, isWay: boolean): void => {
    const { line, children } = inOneLine(each);
    push(`${' '.repeat(indent)}- ${line}`);
    at += 1;
    writeAll(children, indent + 1, isWay || each.role === 'navigation');
  };
  const writeAll = (all: readonly Outline[], indent: number, isWay: boolean): void => {
    if (indent >= writing.depth) return;
    for (const run of runs(all)) {
      if (left < 0) return;
      const { role } = run[0] as Outline; // a run has an element
      const cap = isWay || WAYS.has(role) ? writing.caps.ways : rowsOf(run, writing);
      const shown = run.length <= cap + SPARED_MIN ? run : run.slice(0, cap);
      for (const each of shown) {
        if (left < 0) return;
        write(each, indent, isWay);
      }
      const more = run.slice(shown.length);
      if (more.length === 0) continue;
      const way = writing.isNumbered
        ? `browser_snapshot from ${at} or browser_find shows them`
        : 'browser_find finds each';
      push(`${' '.repeat(indent)}(${more.length} more of ${role}; ${way})`);
      if (writing.stopsAt === undefined) for (const each of more) at += linesOf(each, indent, writing.depth);
    }
  };
  writeAll(outline, 0, false);
  return lines;
}

/** How many rows of a run are shown. */
function rowsOf(run: readonly Outline[], { caps, isSearched }: Writing): number {
  const most = run.some(acts) ? caps.rows : caps.idle;
  const cap = run.length > caps.searched && isSearched?.(run) === true ? Math.min(caps.searched, most) : most;
  return run[0]?.role === 'line' ? LINES_PER_ROW * cap : cap;
}

const acting = new WeakMap<Outline, boolean>();
/** Whether anything in it can be acted on. */
function acts(each: Outline): boolean {
  const known = acting.get(each);
  if (known !== undefined) return known;
  const found = each.line.includes(' [ref=') || each.children.some(acts);
  acting.set(each, found);
  return found;
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

/** Rows, lists of options and addresses, each in the line of their element; a list's item that is one thing is that. */
function inOneLine(each: Outline): Outline {
  const [only, second] = each.children;
  if (each.line === 'listitem' && only !== undefined && second === undefined && only.role !== 'list')
    return inOneLine(only);
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

const SAYING = /^(?:text|cell|gridcell|columnheader|rowheader|option)((?: ~\S+)?(?: \[[^\]]*\])*)(?:: (.*))?$/s;

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
