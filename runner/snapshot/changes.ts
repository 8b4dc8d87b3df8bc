import { createHash } from 'node:crypto';
import { type Outline, sizeOf } from './outline.ts';

/** The lines of a snapshot by what identifies them: an element's ref, a text's place. */
export type Known = ReadonlyMap<string, Place>;

interface Place {
  readonly line: string;
  readonly role: string;
  readonly parent: string;
  /** The nearest group without a line around it. */
  readonly box: string | undefined;
  readonly children: readonly string[];
}

export interface Changes {
  /** Lines that are new or different, under those that they are in. */
  readonly outline: readonly Outline[];
  /** Elements that are gone. */
  readonly gone: readonly string[];
  /** The share of all lines that changed, from 0 to 1. */
  readonly share: number;
}

const ROOT = '';
/** They are shown whole: a part of them says little. */
const UNITS = new Set(['row', 'listitem', 'card', 'paragraph', 'combobox', 'listbox', 'link', 'option']);
const UNIT_LINES_MAX = 30;
/** Roles whose text is in the line of the element around them. */
const PARTS = new Set(['text', '/url', 'option']);

export function indexLines(outline: readonly Outline[]): Known {
  const places = new Map<string, Place>();
  const note = (lines: readonly Outline[], parent: string): string[] =>
    keysOf(lines, parent).map((key, index) => {
      const each = lines[index] as Outline; // there is one key for each
      const { line, role } = each;
      places.set(key, { line, role, parent, box: boxOf(each), children: note(each.children, key) });
      return key;
    });
  const children = note(outline, ROOT);
  return places.set(ROOT, { line: '', role: '', parent: ROOT, box: undefined, children });
}

const boxOf = ({ ref, groups = [] }: Outline): string | undefined => groups.find(group => group !== ref);

function keysOf(lines: readonly Outline[], parent: string): string[] {
  const seen = new Map<string, number>();
  return lines.map(({ ref, line }) => {
    if (ref !== undefined) return ref;
    const count = (seen.get(line) ?? 0) + 1;
    seen.set(line, count);
    return `${parent}/${count}/${shortKey(line)}`;
  });
}

const KEY_CHARACTERS_MAX = 64;
/** A key holds those of all that it is in: long lines would make it as long as the page, for each line. */
const shortKey = (line: string): string =>
  line.length <= KEY_CHARACTERS_MAX ? line : createHash('sha256').update(line).digest('base64');

/** The part of `outline` that an agent that saw `before` does not know. */
export function changesSince(before: Known, outline: readonly Outline[]): Changes {
  const now = indexLines(outline);
  const boxes = new Set([...before.values()].map(({ box }) => box));
  /** From one box of before into another: a box that is new was only made again. */
  const changedBox = (key: string): boolean => {
    const [had, have] = [before.get(key)?.box, now.get(key)?.box];
    return had !== undefined && have !== undefined && had !== have && boxes.has(have);
  };
  let different = 0;
  const kept = (lines: readonly Outline[], parent: string): Outline[] => {
    const keys = keysOf(lines, parent);
    const moved = isReordered(before.get(parent), now.get(parent)) || keys.some(changedBox);
    return lines.flatMap((each, index) => {
      const key = keys[index] ?? '';
      const differs = moved || isDifferent(before.get(key), now.get(key));
      if (differs) different += 1;
      const children = kept(each.children, key);
      if (!differs && children.length === 0) return [];
      const whole = moved || (UNITS.has(each.role) && sizeOf(each) <= UNIT_LINES_MAX);
      return [whole ? each : { ...each, children }];
    });
  };
  return { outline: kept(outline, ROOT), gone: goneSince(before, now), share: different / now.size };
}

function isDifferent(before: Place | undefined, now: Place | undefined): boolean {
  if (before === undefined || now === undefined || before.parent !== now.parent) return true;
  // That the focus went elsewhere is said by the element that has it.
  return before.line !== now.line && before.line.replace(' [active]', '') !== now.line;
}

function isReordered(before: Place | undefined, now: Place | undefined): boolean {
  if (before === undefined || now === undefined) return false;
  const [had, have] = [new Set(before.children), new Set(now.children)];
  const stayed = before.children.filter(key => have.has(key));
  return now.children.filter(key => had.has(key)).some((key, index) => key !== stayed[index]);
}

/** Elements without a successor in their place. */
function goneSince(before: Known, now: Known): string[] {
  const gone = [...before].filter(([key, { parent, role }]) => !now.has(key) && now.has(parent) && !PARTS.has(role));
  const isReplaced = ({ parent, role }: Place) =>
    now.get(parent)?.children.some(key => !before.has(key) && now.get(key)?.role === role);
  return gone.filter(([, place]) => !isReplaced(place)).map(([, { line }]) => line);
}
