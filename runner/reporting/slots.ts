import { characterCodes, plainView } from './decoded-view.ts';
import { findSpans, type SourceSpan } from './find-needles.ts';
import type { TextView } from './view.ts';

/** Pieces that stand in equal places of a text, as one text. */
export interface Slots {
  readonly view: TextView;
  /** Place of a part of the view in the source. */
  partsAt(part: SourceSpan): SourceSpan[];
}

/**
 * A short text in quotes, or alone after a colon, an equals sign, a dot, a slash, a hash, a bar, a tilde or a tab: a name in a snapshot, a value in JSON, an
 * attribute, the end of an address, an entry of a numbered list or table. A key of JSON is none.
 */
const SLOT =
  /(?<=[{,]\s{0,20})"(?:\\.|[^"\\\n]){0,60}"\s?:|(["'])((?:\\.|(?!\1)[^\\\n]){1,60}?)\1|(?<=[:=.)/#|\t~][ \t]{0,2})([^\s"'`,;(){}[\]<>/#]{1,24}|[^\s"'])(?=[\s"',;)}\]<]|$)/g;
/** The label before a value, digits ignored. */
const LABEL = /[\p{L}\p{N}_-]{0,20}[^\p{L}\p{N}]{0,6}$/u;
const LABEL_CHARACTERS = 30;
const SLOTS_MIN = 2;

/** Pieces with one label, joined. */
class Pieces {
  text = '';
  /** Start of each piece in the text. */
  readonly starts: number[] = [];
  /** Place of each unit of the text in the source. */
  readonly from: number[] = [];
  readonly to: number[] = [];

  /** `given` is what the view has at `start`. */
  add(given: string, view: TextView, start: number): void {
    this.starts.push(this.text.length);
    for (let at = 0; at < given.length; at += 1) {
      this.from.push(view.from[start + at] ?? 0);
      if (given[at] === '\\' && at + 1 < given.length) at += 1;
      this.to.push(view.to[start + at] ?? 0);
      this.text += given[at];
    }
  }

  all(): string[] {
    return this.starts.map((start, piece) => this.text.slice(start, this.starts[piece + 1]));
  }
}

/** Each list of pieces that have the same label: a value may be given one piece at a time. */
export function slotsIn(view: TextView): Slots[] {
  const { text } = view;
  const byLabel = new Map<string, Pieces>();
  let end = 0;
  for (const { 0: slot, 2: quoted, 3: bare, index } of text.matchAll(SLOT)) {
    const given = quoted ?? bare;
    if (given === undefined) continue; // a key
    const before = text.slice(Math.max(end, index - LABEL_CHARACTERS), index);
    const label = LABEL.exec(before.slice(before.lastIndexOf('\n') + 1))?.[0].replace(/\d+/g, '#') ?? '';
    end = index + slot.length;
    const pieces = byLabel.get(label) ?? new Pieces();
    byLabel.set(label, pieces);
    pieces.add(given, view, quoted === undefined ? index : index + 1);
  }
  return [...byLabel.values()].filter(({ starts }) => starts.length >= SLOTS_MIN).flatMap(slotReadings);
}

/** The pieces joined, without what they all begin and end with, and where they are numbers, their characters. */
function slotReadings(pieces: Pieces): Slots[] {
  const { text, starts, from, to } = pieces;
  const source = { text, from: Int32Array.from(from), to: Int32Array.from(to) };
  const partsAt = (part: SourceSpan): SourceSpan[] => findSpans(source, part.from, part.to);
  const through = (read: string, at: readonly number[]): Slots => ({
    view: plainView(read),
    partsAt: part => at.slice(part.from, part.to).flatMap(offset => findSpans(source, offset, offset + 1)),
  });
  const found: Slots[] = [{ view: plainView(text), partsAt }];
  const all = pieces.all();
  const [before, after] = [sharedLength(all), sharedLength(all.map(reverseText))];
  if (before + after > 0) {
    const kept = all.flatMap((piece, n) =>
      Array.from({ length: Math.max(0, piece.length - before - after) }, (_, at) => (starts[n] ?? 0) + before + at),
    );
    found.push(through(kept.map(at => text[at] ?? '').join(''), kept));
  }
  if (!all.every(piece => /^(?:0x)?[0-9a-f]{2,6}$/i.test(piece))) return found;
  const listed = plainView(all.join(' '));
  const offsets = all.flatMap((piece, n) => Array.from({ length: piece.length + 1 }, (_, at) => (starts[n] ?? 0) + at));
  for (const radix of [10, 16] as const) {
    const codes = characterCodes(listed, radix);
    if (codes === undefined) continue;
    found.push(
      through(
        codes.text,
        [...codes.from].map(at => offsets[at] ?? 0),
      ),
    );
  }
  return found;
}

const reverseText = (text: string): string => text.split('').reverse().join('');

/** How many characters all begin with, except the last of each. */
function sharedLength([first = '', ...rest]: readonly string[]): number {
  let size = first.length - 1;
  for (const text of rest) {
    size = Math.min(size, text.length - 1);
    while (size > 0 && !text.startsWith(first.slice(0, size))) size -= 1;
    if (size <= 0) return 0;
  }
  return Math.max(0, size);
}
