import { decodedReadings, foldedView, plainView, textWithoutSeparators } from './decoded-view.ts';

/** `code`: a one-time code, known from the moment it is used. `edited`: what a page made of a password in its field. */
export type SecretValueKind = 'username' | 'password' | 'code' | 'edited';

/** One spelling of a value, and how much of it counts. */
export interface Needle {
  readonly name: string;
  readonly kind: SecretValueKind;
  readonly text: string;
  /** A run this long is found; the whole, or more than half of it. */
  readonly size: number;
}

/** Spellings by the view in which they are searched. */
export interface Needles {
  /** In the text as it is. */
  readonly exact: readonly Needle[];
  readonly folded: readonly Needle[];
  /** In folded text without tags and separators. */
  readonly bare: readonly Needle[];
  /** In its letters and digits. */
  readonly solid: readonly Needle[];
}

/** Shorter parts are in every text. */
const PART_MIN = 4;
/** Shorter spellings without separators, and shorter values in other alphabets, are not distinguished from chance. */
const SOLID_MIN = 5;
const ENCODED_BYTES_MIN = 6;
/** For longer values half is half in every view. */
const WINDOWS_MAX = 400;
/** A part of a name of this length differs from words, where it is more than half. */
const NAME_PART_MIN = 8;

export function needlesOf(name: string, value: string, kind: SecretValueKind): Needles {
  const local = kind === 'username' ? (value.split('@')[0] ?? '') : '';
  const spellings = [...SPELLINGS, ...encodingsOf(value)];
  const inView = (read: (text: string) => string, min: number): Needle[] => {
    const needles = spellings.map((spell): Needle => {
      const text = read(spell(value));
      const size =
        kind === 'username' || kind === 'edited'
          ? text.length
          : sizeOfPart(value, text, min, part => read(spell(part)));
      return { name, kind, text, size };
    });
    if (local.length >= NAME_PART_MIN)
      needles.push({ name, kind, text: read(local), size: sizeOfNamePart(read(local)) });
    return uniqueNeedles(needles.filter(({ text }) => text.length >= min));
  };
  const fold = (text: string): string => foldedView(plainView(text)).text;
  return {
    exact: value === '' ? [] : [{ name, kind, text: value, size: value.length }],
    folded: inView(fold, 3),
    bare: inView(text => textWithoutSeparators(fold(text), false), PART_MIN),
    solid: inView(text => textWithoutSeparators(fold(text), true), SOLID_MIN),
  };
}

/** The start of an escape, which what follows in a text may complete. */
const OPEN_ESCAPE = /(?:%(?:u?[0-9a-f]{0,3})|\\[^\\]{0,9}|&[#\w]{0,8})$/i;

/** The least that more than half of a value leaves in a view, wherever that half is. */
function sizeOfPart(value: string, seen: string, min: number, read: (text: string) => string): number {
  const points = [...value];
  const size = moreThanHalf(points);
  const parts = Array.from({ length: points.length - size + 1 }, (_, start) => points.slice(start, start + size));
  const sizes =
    points.length > WINDOWS_MAX ? [] : parts.map(part => read(part.join('').replace(OPEN_ESCAPE, '')).length);
  return Math.max(Math.min(moreThanHalf(seen), ...sizes), Math.min(seen.length, Math.max(min, PART_MIN)));
}

const sizeOfNamePart = (local: string): number => Math.min(local.length, Math.max(NAME_PART_MIN, moreThanHalf(local)));

/** The fewest that are more than half. */
const moreThanHalf = ({ length }: { readonly length: number }): number => Math.floor(length / 2) + 1;

/** As it is, as it reads where escapes are undone that it only looks to have, and backwards. */
const SPELLINGS: readonly ((value: string) => string)[] = [
  value => value,
  ...[1, 2, 3, 4, 5, 6, 7, 8].map(depth => (value: string) => decodedReadings(plainView(value))[depth]?.text ?? value),
  value => [...value].reverse().join(''),
];

/** In base64, wherever it starts in what is encoded, and in hexadecimal. */
function encodingsOf(value: string): ((value: string) => string)[] {
  if (Buffer.byteLength(value) < ENCODED_BYTES_MIN) return [];
  const base64 = [0, 1, 2].map(before => (text: string) => {
    const bytes = Buffer.from(text);
    const all = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The characters at either end hold bits of what stands beside the value.
    return all.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const forAddresses = base64.map(encode => (text: string) => encode(text).replaceAll('+', '-').replaceAll('/', '_'));
  return [...base64, ...forAddresses, text => Buffer.from(text).toString('hex')];
}

const uniqueNeedles = (needles: readonly Needle[]): Needle[] => [
  ...new Map(needles.map(needle => [`${needle.size} ${needle.text}`, needle])).values(),
];
