import { decodeHTML } from 'entities';
import { BARRIER, type TextView, ViewWriter } from './view.ts';

/** The text as it is. `barriers`: places of it that hold no value, as `[from, to)`. */
export function plainView(text: string, barriers: readonly (readonly [number, number])[] = []): TextView {
  const writer = new ViewWriter(text.length);
  let at = 0;
  const upTo = (end: number): void => {
    for (; at < end; at += 1) writer.addUnit(text.charCodeAt(at), at, at + 1);
  };
  for (const [from, to] of barriers) {
    upTo(from);
    writer.add(BARRIER, from, to);
    at = to;
  }
  upTo(text.length);
  return writer.view();
}

/** Replaces what a sticky pattern matches; undefined: there is nothing to replace. */
function rewriteMatches(
  view: TextView,
  starts: RegExp,
  read: (text: string, at: number) => { text: string; length: number } | undefined,
): TextView | undefined {
  starts.lastIndex = 0;
  if (!starts.test(view.text)) return undefined;
  const { text, from, to } = view;
  const writer = new ViewWriter(text.length);
  let copied = 0;
  let changed = false;
  starts.lastIndex = 0;
  for (let found = starts.exec(text); found !== null; found = starts.exec(text)) {
    const { index } = found;
    const piece = read(text, index);
    if (piece === undefined) {
      starts.lastIndex = index + 1;
      continue;
    }
    changed = true;
    writer.copy(view, copied, index);
    writer.add(piece.text, from[index] ?? 0, to[index + piece.length - 1] ?? 0);
    copied = index + piece.length;
    starts.lastIndex = copied;
  }
  if (!changed) return undefined;
  writer.copy(view, copied, text.length);
  return writer.view();
}

const ESCAPED = /[&\\%]/g;
const ENTITY = /&(?:#\d{1,8}|#x[0-9a-f]{1,7}|[a-z][a-z0-9]{1,31});?/iy;
/** As many bytes as one character has. */
const BYTES = /(?:%[0-9a-f]{2}){1,4}/iy;
const UNIT = /%u([0-9a-f]{4})/iy;
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
const SCRIPT_ESCAPE =
  /\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|U([\da-fA-F]{8})|x([\da-fA-F]{2})|([0-3]?[0-7]{1,2})|([\s\S]))/y;
const STYLE_ESCAPE = /\\(?:([0-9a-f]{1,6})[ \t\n]?|([\s\S]))/iy;

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

const characterOf = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd');

type EscapeReader = (text: string, at: number) => { text: string; length: number } | undefined;

const readScriptEscape: EscapeReader = (text, at) => {
  const found = matchAt(SCRIPT_ESCAPE, text, at);
  if (found === null) return undefined;
  const [all, braced, unit, wide, byte, octal, other = ''] = found;
  const hex = braced ?? unit ?? wide ?? byte;
  const code =
    hex === undefined ? (octal === undefined ? undefined : Number.parseInt(octal, 8)) : Number.parseInt(hex, 16);
  return { text: code === undefined ? (CONTROLS[other] ?? other) : characterOf(code), length: all.length };
};

const readStyleEscape: EscapeReader = (text, at) => {
  const found = matchAt(STYLE_ESCAPE, text, at);
  if (found === null) return undefined;
  const [all, hex, other = ''] = found;
  return { text: hex === undefined ? other : characterOf(Number.parseInt(hex, 16)), length: all.length };
};

function readPercent(text: string, at: number) {
  const unit = matchAt(UNIT, text, at);
  if (unit !== null) return { text: characterOf(Number.parseInt(unit[1] ?? '', 16)), length: unit[0].length };
  const found = matchAt(BYTES, text, at);
  if (found === null) return undefined;
  const bytes = Buffer.from(found[0].replaceAll('%', ''), 'hex');
  return firstCharacter(bytes);
}

/** One character at a time: each keeps its own place in the source. */
function firstCharacter(bytes: Buffer): { text: string; length: number } {
  const [lead = 0] = bytes;
  const size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const text = bytes.subarray(0, size).toString('utf8');
  // Bytes that are no UTF-8 are an older one-byte encoding.
  return text.includes('\ufffd') ? { text: characterOf(lead), length: 3 } : { text, length: size * 3 };
}

function readEntity(text: string, at: number) {
  const found = matchAt(ENTITY, text, at);
  if (found === null) return undefined;
  const decoded = decodeHTML(found[0]);
  return decoded === found[0] ? undefined : { text: decoded, length: found[0].length };
}

const decodeOnce = (view: TextView, readEscape: EscapeReader): TextView | undefined =>
  rewriteMatches(view, ESCAPED, (text, at) => {
    if (text[at] === '%') return readPercent(text, at);
    return text[at] === '&' ? readEntity(text, at) : readEscape(text, at);
  });

/** A backslash that stays in the query of an address is no escape of the percent sign after it. */
const readNoEscape: EscapeReader = () => undefined;

/** Ways to read a backslash, each with the texts in which it makes a difference. */
const READERS: readonly (readonly [EscapeReader, RegExp])[] = [
  [readScriptEscape, /(?:)/],
  [readStyleEscape, /\\[0-9a-f]/i],
  [readNoEscape, /\\%[0-9a-f]{2}/i],
];

/** An escaper in an escaper, and that twice more. */
const DEPTH = 4;

/**
 * The readings of a text: as it is, and with entities of HTML, escapes of scripts, JSON and styles, and percent escapes
 * undone, once and again.
 */
export function decodedReadings(plain: TextView): TextView[] {
  const found = [plain];
  for (const [readEscape, applies] of READERS) {
    if (!applies.test(plain.text)) continue;
    let view: TextView | undefined = plain;
    for (let depth = 0; depth < DEPTH; depth += 1) {
      view = decodeOnce(view, readEscape);
      if (view === undefined) break;
      found.push(view);
    }
  }
  return found;
}

/** Invisible characters: format characters, and marks that stand on or over a letter. */
const UNSEEN = /[\p{Cf}\p{M}\u115f\u1160\u3164\uffa0]/gu;
const folds = new Map<string, string>();

/** One code point without what spellings of a text differ in: case, accents, width, form. */
function foldPoint(point: string): string {
  let found = folds.get(point);
  if (found === undefined) {
    found =
      point === BARRIER
        ? BARRIER
        : point
            .normalize('NFKD')
            .replace(UNSEEN, '')
            .toLowerCase()
            .replaceAll('ß', 'ss')
            .replace(/[\s+]/g, ' ')
            // As the parser of addresses does.
            .replaceAll('\\', '/');
    if (folds.size < 20_000) folds.set(point, found);
  }
  return found;
}

/** Case, accents, width and unseen characters folded; white space, and the plus that stands for it, as one space. */
export function foldedView({ text, from, to }: TextView): TextView {
  const writer = new ViewWriter(text.length);
  let wasSpace = false;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    const code = text.codePointAt(at) ?? 0;
    if (code > 0xffff) at += 1;
    const plain = code < 0x80 ? (ASCII_FOLDED[code] ?? '') : foldPoint(String.fromCodePoint(code));
    if (plain === '') {
      // An accent, or what is not seen, belongs to the letter before it: nothing parts the two.
      writer.extend(to[at] ?? 0);
      continue;
    }
    const isSpace = plain === ' ';
    if (isSpace && wasSpace) writer.extend(to[at] ?? 0);
    else writer.add(plain, from[start] ?? 0, to[at] ?? 0);
    wasSpace = isSpace;
  }
  return writer.view();
}

/** Separators that a page, or a snapshot of it, puts between the pieces of a text: a tag, the start of a line of the tree. */
const BETWEEN = /<[a-z/!?][^<>]{0,300}>|- [a-z]+(?: \[[^\]\n]{0,80}\])*:/iy;
const SEPARATOR = /[\s"'`,;|]/;
const SOLID = /[\p{L}\p{N}\uffff]/u;
const ASCII = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code));
const ASCII_FOLDED = ASCII.map(foldPoint);
const ASCII_SOLID = ASCII.map(point => SOLID.test(point));
const ASCII_BARE = ASCII.map(point => !SEPARATOR.test(point));
const LESS_THAN = 0x3c;
const HYPHEN = 0x2d;

/** A folded text without what parts pieces; `solid`: its letters and digits alone. */
export const textWithoutSeparators = (text: string, solid: boolean): string =>
  [...text].filter(point => (solid ? SOLID.test(point) : !SEPARATOR.test(point))).join('');

/** The folded view without tags, unless they stay, and what parts pieces. `solid`: letters and digits alone. */
export function barePieces({ text, from, to }: TextView, solid: boolean, tags?: 'tags stay'): TextView {
  const writer = new ViewWriter(text.length);
  const ascii = solid ? ASCII_SOLID : ASCII_BARE;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    const code = text.codePointAt(at) ?? 0;
    if (tags === undefined && (code === LESS_THAN || code === HYPHEN)) {
      const between = matchAt(BETWEEN, text, at);
      if (between !== null) {
        at += between[0].length - 1;
        continue;
      }
    }
    if (code > 0xffff) at += 1;
    const stays = code < 0x80 ? ascii[code] === true : !solid || SOLID.test(String.fromCodePoint(code));
    if (!stays) continue;
    for (let unit = start; unit <= at; unit += 1) writer.addUnit(text.charCodeAt(unit), from[unit] ?? 0, to[at] ?? 0);
  }
  return writer.view();
}

/** Lists of the numbers of characters, as a program prints them. */
const NUMBERS = /(?:0x)?[0-9a-f]{2,6}(?:[\s,;:|.[\]"'-]{1,20}(?:0x)?[0-9a-f]{2,6}){3,}/gi;
const NUMBER = /(?:0x)?([0-9a-f]{2,6})/gi;

/** Those lists as characters, read in decimal or in hexadecimal; undefined: there are none. */
export function characterCodes({ text, from, to }: TextView, radix: 10 | 16): TextView | undefined {
  if (text.search(NUMBERS) === -1) return undefined;
  const writer = new ViewWriter(1_000);
  let any = false;
  for (const list of text.matchAll(NUMBERS)) {
    writer.add(BARRIER, from[list.index] ?? 0, from[list.index] ?? 0);
    for (const number of list[0].matchAll(NUMBER)) {
      const digits = number[1] ?? '';
      const code = radix === 10 && /\D/.test(digits) ? Number.NaN : Number.parseInt(digits, radix);
      const at = list.index + number.index;
      const isCharacter = code >= 0x20 && code <= 0x10ffff;
      writer.add(isCharacter ? characterOf(code) : BARRIER, from[at] ?? 0, to[at + number[0].length - 1] ?? 0);
      any ||= isCharacter;
    }
  }
  return any ? writer.view() : undefined;
}
