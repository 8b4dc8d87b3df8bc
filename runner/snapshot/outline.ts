import { bareText, oneLine } from '../browser/page-text.ts';
import { shownAddress } from '../browser/shown.ts';
import { beginning } from '../budget/well-formed.ts';
import type { AriaNode } from './aria-tree.ts';

/** One line of a snapshot, with what is under it. */
export interface Outline {
  readonly role: string;
  /** As it is shown, after `- `. */
  readonly line: string;
  readonly ref: string | undefined;
  /** Names the group without a line in which it lies; undefined: in none. */
  readonly within?: number;
  readonly children: readonly Outline[];
}

/** Roles whose refs agents need; any other element keeps its ref where the pointer says that it may be clicked. */
const ACTED_ON = new Set([
  ...['button', 'link', 'textbox', 'searchbox', 'spinbutton', 'slider', 'combobox', 'listbox', 'option'],
  ...['checkbox', 'radio', 'switch', 'tab', 'treeitem', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'iframe'],
]);
const LABELLED = new Set(['textbox', 'searchbox', 'spinbutton', 'combobox', 'checkbox', 'radio', 'switch', 'slider']);
/** Their names are what they say. */
const SAYING = new Set(['cell', 'gridcell', 'columnheader', 'rowheader', 'listitem', 'option', 'caption']);

/** A text of a page in square brackets of ours, which it does not close. */
const inBrackets = (text: string): string => bareText(text).replaceAll(']', ')');

/** The lines of a page: empty groups out, labels that only repeat a field's name out. `hasBoundedLines`: the longest are cut. */
export function outlineOf(
  nodes: readonly (AriaNode | string)[],
  { hasBoundedLines }: { readonly hasBoundedLines: boolean } = { hasBoundedLines: false },
): Outline[] {
  groups = 0;
  const lines = linesIn(nodes);
  return hasBoundedLines ? withBoundedLines(lines) : lines;
}

const linesIn = (nodes: readonly (AriaNode | string)[]): Outline[] =>
  withoutTwins(nodes.flatMap(each => (typeof each === 'string' ? textLine(each) : linesOf(each))));

/** About how many characters the page says. */
export const charactersIn = (nodes: readonly (AriaNode | string)[]): number =>
  nodes.reduce<number>((sum, node) => {
    if (typeof node === 'string') return sum + node.length;
    const { name = '', text = '', placeholder = '', url = '', children = [] } = node;
    return sum + name.length + text.length + placeholder.length + url.length + charactersIn(children);
  }, 0);

/** How many characters its lines have. */
export const charactersOf = (lines: readonly Outline[]): number =>
  lines.reduce((sum, { line, children }) => sum + line.length + charactersOf(children), 0);

function linesOf(node: AriaNode): Outline[] {
  const children = linesIn(node.children ?? []);
  const acted = isActedOn(node);
  if (node.role === 'generic' && !acted && node.name === undefined)
    return inGroup([...(node.text === undefined ? [] : textLine(node.text, node.ref)), ...children]);
  if (node.role === 'img' && node.name === undefined && !acted) return children;
  const url =
    node.url === undefined
      ? []
      : [{ role: '/url', line: `/url: ${shownAddress(node.url)}`, ref: undefined, children: [] }];
  return [{ role: node.role, line: lineOf(node, acted), ref: node.ref, children: [...url, ...children] }];
}

let groups = 0;

/** The lines of a group that has none itself: of several, each names it, unless it lies in a nearer one. */
function inGroup(lines: Outline[]): Outline[] {
  if (lines.length < 2) return lines;
  groups += 1;
  const within = groups;
  return lines.map(each => (each.within === undefined ? { ...each, within } : each));
}

const isActedOn = ({ role, name, cursor }: AriaNode): boolean =>
  ACTED_ON.has(role) || cursor === 'pointer' || (role === 'generic' && name !== undefined);

const textLine = (text: string, ref?: string): Outline[] =>
  text.trim() === '' ? [] : [{ role: 'text', line: `text: ${bareText(text)}`, ref, children: [] }];

function lineOf(node: AriaNode, acted: boolean): string {
  const { role, name = '', text, placeholder, ref } = node;
  const says = text ?? (SAYING.has(role) ? name : undefined);
  // The text of a row is in its cells.
  const isNamed = name !== '' && says !== name && !(role === 'row' && node.children !== undefined);
  const named = isNamed ? ` ${JSON.stringify(oneLine(name))}` : '';
  const hint = placeholder === undefined || placeholder === name ? '' : ` [placeholder=${inBrackets(placeholder)}]`;
  const shownRef = acted && ref !== undefined ? ` [ref=${ref}]` : '';
  return `${role}${named}${hint}${states(node)}${shownRef}${says === undefined ? '' : `: ${bareText(says)}`}`;
}

const STATES = ['active', 'checked', 'disabled', 'expanded', 'invalid', 'level', 'pressed', 'selected'] as const;

const states = (node: AriaNode): string =>
  STATES.filter(state => node[state] !== undefined && node[state] !== false)
    .map(state => (node[state] === true ? ` [${state}]` : ` [${state}=${inBrackets(String(node[state]))}]`))
    .join('');

/** Secrets are looked for in all of it, a second for a million characters. */
const LINE_CHARACTERS_MAX = 100_000;

/** The same with the beginnings of its longest lines, whose ends say how much more there is. */
const withBoundedLines = (lines: readonly Outline[]): Outline[] =>
  lines.map(each => ({ ...each, line: bounded(each.line), children: withBoundedLines(each.children) }));

function bounded(line: string): string {
  if (line.length <= LINE_CHARACTERS_MAX) return line;
  const start = beginning(line, LINE_CHARACTERS_MAX);
  return `${start}… (${line.length - start.length} more characters; browser_find searches them)`;
}

function withoutTwins(lines: readonly Outline[]): Outline[] {
  const names = new Set(
    lines.filter(({ role }) => LABELLED.has(role)).map(({ line }) => /"(?:[^"\\]|\\.)*"/.exec(line)?.[0]),
  );
  const repeats = ({ role, line, children }: Outline) =>
    role === 'text' && children.length === 0 && names.has(JSON.stringify(line.slice('text: '.length)));
  return lines.filter(line => !repeats(line));
}

/** How many lines it is. */
export const sizeOf = ({ children }: Outline): number => children.reduce((sum, child) => sum + sizeOf(child), 1);
