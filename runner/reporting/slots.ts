import { characterCodes } from './decoded-view.ts';
import { type View, ViewWriter } from './view.ts';

/** Pieces that stand in equal places of a text, as one text. */
export interface Slots {
  readonly view: View;
  /** From where to where of the source the piece at an offset of the view stands. */
  placeOf(offset: number): readonly [number, number];
}

/**
 * A short text in quotes, or alone after a colon, an equals sign, a dot, a slash or a hash: a name in a snapshot, a value in JSON, an
 * attribute, the end of an address, an entry of a numbered list. A key of JSON is none.
 */
const SLOT =
  /(?<=[{,]\s{0,20})"(?:\\.|[^"\\\n]){0,60}"\s?:|(["'])((?:\\.|(?!\1)[^\\\n]){1,60}?)\1|(?<=[:=.)/#]\s{0,2})([^\s"'`,;(){}[\]<>/#]{1,24}|[^\s])(?=[\s"',;)}\]<]|$)/g;
/** What comes before it and says what it is, but for its numbers. */
const LABEL = /[\p{L}\p{N}_-]{0,20}[^\p{L}\p{N}]{0,6}$/u;
const LABEL_CHARACTERS = 30;
const SLOTS_MIN = 2;

interface Piece {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** Each list of pieces that have the same label: a value may be given one piece at a time. */
export function slotsIn(view: View): Slots[] {
  const { text } = view;
  const byLabel = new Map<string, Piece[]>();
  let end = 0;
  for (const found of text.matchAll(SLOT)) {
    const { index, 2: quoted, 3: bare } = found;
    const given = quoted ?? bare;
    if (given === undefined) continue; // a key
    const label = text.slice(Math.max(end, index - LABEL_CHARACTERS), index);
    end = index + found[0].length;
    const key = (LABEL.exec(label.slice(label.lastIndexOf('\n') + 1))?.[0] ?? '').replace(/\d+/g, '#');
    const start = quoted === undefined ? index : index + 1;
    const piece = {
      text: given.replace(/\\(.)/g, '$1'),
      from: view.from[start] ?? 0,
      to: view.to[start + given.length - 1] ?? 0,
    };
    const list = byLabel.get(key);
    if (list === undefined) byLabel.set(key, [piece]);
    else list.push(piece);
  }
  return [...byLabel.values()].filter(({ length }) => length >= SLOTS_MIN).flatMap(pieces => readings(pieces));
}

/** The pieces joined, without what they all begin and end with, and where they are numbers, their characters. */
function readings(pieces: readonly Piece[]): Slots[] {
  const texts = pieces.map(({ text }) => text);
  const [before, after] = [shared(texts), shared(texts.map(reversed))];
  const joined = [slotsOf(pieces)];
  if (before + after > 0)
    joined.push(
      slotsOf(pieces.map(piece => ({ ...piece, text: piece.text.slice(before, piece.text.length - after) }))),
    );
  if (!texts.every(text => /^(?:0x)?[0-9a-f]{2,6}$/i.test(text))) return joined;
  const listed = slotsOf(pieces.map(piece => ({ ...piece, text: `${piece.text},` })));
  const codes = ([10, 16] as const).flatMap(radix => characterCodes(listed.view, radix) ?? []);
  return [...joined, ...codes.map(view => ({ view, placeOf: (at: number) => listed.placeOf(view.from[at] ?? 0) }))];
}

const reversed = (text: string): string => text.split('').reverse().join('');

/** How many characters all begin with, but for the last of each. */
function shared([first = '', ...rest]: readonly string[]): number {
  let size = first.length - 1;
  for (const text of rest) {
    size = Math.min(size, text.length - 1);
    while (size > 0 && !text.startsWith(first.slice(0, size))) size -= 1;
  }
  return Math.max(0, size);
}

function slotsOf(pieces: readonly Piece[]): Slots {
  const writer = new ViewWriter(pieces.length * 4);
  const owner: Piece[] = [];
  for (const piece of pieces)
    for (const unit of piece.text.split('')) {
      writer.add(unit, owner.length, owner.length + 1);
      owner.push(piece);
    }
  return {
    view: writer.view(),
    placeOf(offset) {
      const piece = owner[offset];
      return piece === undefined ? [0, 0] : [piece.from, piece.to];
    },
  };
}
