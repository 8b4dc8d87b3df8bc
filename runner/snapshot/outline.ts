import { beginning } from '../../contract/well-formed.ts';
import { bareText, exactLine, exactText, oneLine } from '../browser/page-text.ts';
import { shownAddress } from '../browser/shown.ts';
import { type AriaNode, CONTROLS } from './aria-tree.ts';

/** One line of a snapshot, with what is under it. */
export interface Outline {
  readonly role: string;
  /** As it is shown, after `- `. */
  readonly line: string;
  readonly ref: string | undefined;
  /** Names the group of several lines, without one itself, in which it lies; undefined: in none. */
  readonly within?: number | undefined;
  /** Refs of all groups without a line in which it lies, down from the element around them; innermost first. */
  readonly groups?: readonly string[] | undefined;
  readonly children: readonly Outline[];
}

const ACTED_ON = new Set(CONTROLS);
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

function linesIn(nodes: readonly (AriaNode | string)[]): Outline[] {
  const parts = nodes.map(node => ({ node, lines: typeof node === 'string' ? textLine(node) : linesOf(node) }));
  const cards = parts.map(({ node, lines }) => isCard(node, lines));
  const besideCard = (at: number) => cards[at - 1] === true || cards[at + 1] === true;
  const lines = parts.flatMap(({ node, lines }, at) =>
    cards[at] === true && besideCard(at) && typeof node !== 'string'
      ? [{ role: 'card', line: 'group', ref: node.ref, children: lines.map(withoutGroup) }]
      : lines,
  );
  return withoutTwins(lines);
}

/** Whether a group without a line holds a text and ways to act on what that says: beside its like, both belong together. */
const isCard = (node: AriaNode | string, lines: readonly Outline[]): boolean =>
  typeof node !== 'string' &&
  isPlainGroup(node) &&
  lines.length > 1 &&
  lines.some(({ role }) => SAYS.has(role)) &&
  lines.some(({ role, line }) => !FILLED.has(role) && !SAYS.has(role) && line.includes(' [ref='));

const SAYS = new Set(['text', 'heading', 'paragraph']);
/** Fields have names that say what they are for. */
const FILLED = new Set([...LABELLED, 'listbox', 'option']);

const isPlainGroup = (node: AriaNode): boolean =>
  node.role === 'generic' && node.name === undefined && !isActedOn(node);

const withoutGroup = ({ within: _within, groups: _groups, ...each }: Outline): Outline => each;

/** About how many characters the page says. */
export const charactersIn = (nodes: readonly (AriaNode | string)[]): number =>
  nodes.reduce<number>((sum, node) => {
    if (typeof node === 'string') return sum + node.length;
    const { name = '', text = '', placeholder = '', url = '', lines = [], children = [] } = node;
    return (
      sum + lines.join('').length + name.length + text.length + placeholder.length + url.length + charactersIn(children)
    );
  }, 0);

/** How many characters its lines have. */
export const charactersOf = (lines: readonly Outline[]): number =>
  lines.reduce((sum, { line, children }) => sum + line.length + charactersOf(children), 0);

/** Addresses of links that a script handles. */
const LEADS_NOWHERE = /^(?:#!?|javascript:(?:void(?:\(0\)| 0))?;?)$/i;

function linesOf(node: AriaNode): Outline[] {
  const children = linesIn(node.children ?? []);
  const acted = isActedOn(node);
  if (isPlainGroup(node))
    return inGroup([...(node.text === undefined ? [] : textLine(node.text, node.ref)), ...children], node.ref);
  if (node.role === 'img' && node.name === undefined && !acted) return children;
  const url =
    node.url === undefined || LEADS_NOWHERE.test(node.url)
      ? []
      : [{ role: '/url', line: `/url: ${shownAddress(node.url)}`, ref: undefined, children: [] }];
  const written = (node.lines ?? []).map(each => ({
    role: 'line',
    line: `| ${exactLine(each)}`,
    ref: undefined,
    children: [],
  }));
  return [{ role: node.role, line: lineOf(node, acted), ref: node.ref, children: [...url, ...written, ...children] }];
}

let groups = 0;

/** The lines of a group that has none itself: each names it, and several are distinguished from those beside the group. */
function inGroup(lines: Outline[], ref: string | undefined): Outline[] {
  groups += 1;
  const within = lines.length > 1 ? groups : undefined;
  return lines.map(each => ({
    ...each,
    within: each.within ?? within,
    groups: ref === undefined ? each.groups : [...(each.groups ?? []), ref],
  }));
}

const isActedOn = ({ role, name, acts }: AriaNode): boolean =>
  ACTED_ON.has(role) || acts === true || (role === 'generic' && name !== undefined);

const textLine = (text: string, ref?: string): Outline[] =>
  text.trim() === '' ? [] : [{ role: 'text', line: `text: ${bareText(text)}`, ref, children: [] }];

function lineOf(node: AriaNode, acted: boolean): string {
  const { role, name = '', guess, text, placeholder, ref, exact = false } = node;
  const says = text ?? (SAYING.has(role) && name !== '' ? name : undefined);
  // The text of a row is in its cells.
  const isNamed = name !== '' && says !== name && !(role === 'row' && node.children !== undefined);
  const guessed = guess === undefined ? '' : ` ~${bareText(guess)}`;
  const named = isNamed ? ` ${JSON.stringify(oneLine(name))}` : guessed;
  const hint = placeholder === undefined || placeholder === name ? '' : ` [placeholder=${inBrackets(placeholder)}]`;
  const shownRef = acted && ref !== undefined ? ` [ref=${ref}]` : '';
  return `${role}${named}${hint}${states(node)}${shownRef}${says === undefined ? '' : `: ${exact ? exactText(says) : bareText(says)}`}`;
}

const STATES = [
  ...(['active', 'checked', 'current', 'disabled', 'expanded', 'invalid', 'level', 'max', 'min', 'pressed'] as const),
  ...(['readonly', 'required', 'selected', 'sort'] as const),
];

/** `expanded: false` is shown, since such an element can be opened; other states are shown unless they are false. */
const isTold = (state: (typeof STATES)[number], value: unknown): boolean =>
  value !== undefined && (value !== false || state === 'expanded');

const states = (node: AriaNode): string =>
  STATES.filter(state => isTold(state, node[state]))
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
