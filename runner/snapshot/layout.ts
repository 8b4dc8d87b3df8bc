import { estimateTokens, startOf } from '../budget/estimate.ts';
import { type Outline, sizeOf } from './outline.ts';

/** How many of equal elements are shown; fewer where more do not fit. */
const SHOWN = [12, 8, 3] as const;
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
const CELLS = new Set(['cell', 'gridcell', 'columnheader', 'rowheader']);

export interface LayoutOptions {
  readonly tokensMax: number;
  /** All of equal elements, as far as the tokens go. */
  readonly all?: boolean;
  readonly depth?: number;
}

/** The text of a snapshot within the tokens; its end says what is not shown, and how it is found. */
export function layout(
  outline: readonly Outline[],
  { tokensMax, all = false, depth = Infinity }: LayoutOptions,
): string {
  const attempts = all ? [Infinity] : SHOWN;
  let lines: string[] = [];
  for (const shown of attempts) {
    lines = written(outline, { shown, indent: 0, depth });
    if (estimateTokens(lines.join('\n')) <= tokensMax) return lines.join('\n');
  }
  return cutLines(lines, tokensMax);
}

function cutLines(lines: readonly string[], tokensMax: number): string {
  const kept: string[] = [];
  let left = tokensMax;
  for (const line of lines) {
    const tokens = estimateTokens(`${line}\n`);
    if (tokens > left) break;
    left -= tokens;
    kept.push(line);
  }
  const missing = lines.slice(kept.length);
  const begun = beginningOf(missing[0] ?? '', left);
  const tokens = estimateTokens(missing.join('\n').slice(begun.length));
  return [
    ...kept,
    ...(begun === '' ? [] : [`${begun}…`]),
    `(cut: ${missing.length} more lines, about ${tokens} tokens; browser_find searches them, browser_snapshot with a target ` +
      'shows a part, a larger tokensMax more)',
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
  readonly shown: number;
  readonly indent: number;
  readonly depth: number;
}

function written(lines: readonly Outline[], writing: Writing): string[] {
  if (writing.indent >= writing.depth) return [];
  const text: string[] = [];
  for (const [first, ...rest] of runs(lines)) {
    if (first === undefined) continue;
    const run = [first, ...rest];
    const shown = run.length <= writing.shown + SPARED_MIN ? run : run.slice(0, writing.shown);
    text.push(...shown.flatMap(each => writtenOne(each, writing)));
    const more = run.length - shown.length;
    if (more > 0) text.push(`${indented(writing)}(${more} more of ${first.role}; browser_find finds each)`);
  }
  return text;
}

/** Neighbours that are equal in kind. */
function runs(lines: readonly Outline[]): Outline[][] {
  const all: Outline[][] = [];
  for (const each of lines) {
    const last = all.at(-1);
    if (last?.[0]?.role === each.role && !NEVER_EQUAL.has(each.role)) last.push(each);
    else all.push([each]);
  }
  return all;
}

const indented = ({ indent }: Writing): string => ' '.repeat(indent);

function writtenOne(each: Outline, writing: Writing): string[] {
  const { line, children } = inOneLine(each);
  const below = written(children, { ...writing, indent: writing.indent + 1 });
  return [`${indented(writing)}- ${line}`, ...below];
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
