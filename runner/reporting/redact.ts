import { beginning } from '../../contract/well-formed.ts';
import { barePieces, characterCodes, decodedReadings, foldedView, plainView } from './decoded-view.ts';
import { decodedRuns } from './encoded-view.ts';
import { findSpans, hitsIn, mergeRuns, type NeedleRun, type SourceSpan } from './find-needles.ts';
import { needlesOf, type SecretValueKind } from './needles.ts';
import { slotsIn } from './slots.ts';
import type { TextView } from './view.ts';

/** Takes the secrets of one lease out of a text. */
export type Redact = (text: string) => string;

/** Keeps the secrets of one lease out of texts. */
export interface Redactor {
  /**
   * The text with every secret replaced by `<secret>NAME</secret>`: whole or more than half of it, in any spelling that
   * a program can undo. A value that no page was given is replaced where it stands as a word of its own. Texts of more
   * than four million characters are cut there.
   */
  redact(text: string): string;
  /** As `redact`; of the values that no page was given, those alone of whose names `isWord` is true. */
  redactWords(text: string, isWord: IsWord): string;
  /** Whether a text holds a password that a page was given, or more than half of it, or a code. */
  holds(text: string): boolean;
  /** From now on this value is searched for too, as long as `isCurrent` says so. */
  add(name: string, value: string, kind: SecretValueKind, isCurrent?: () => boolean): void;
  /** From now on the value of this name may be anywhere: a page is given it. */
  give(name: string): void;
  /** All values with which another redactor finds now what this one does. */
  values(): SecretValue[];
}

/** Whether the value of this name is replaced where it is a word of its own, though no page was given it. */
export type IsWord = (name: string) => boolean;

/** One value of a lease, as it was added. */
export interface SecretValue {
  readonly name: string;
  readonly value: string;
  readonly kind: SecretValueKind;
  readonly isCurrent: boolean;
  readonly isGiven: boolean;
}

interface Searched {
  readonly name: string;
  readonly value: string;
  readonly kind: SecretValueKind;
  readonly needles: ReturnType<typeof needlesOf>;
  readonly isCurrent: () => boolean;
  /** A page was given it. */
  isGiven: boolean;
}

/** A value that was found, with its parts: between them stands something else. */
interface Hit {
  readonly run: NeedleRun;
  readonly parts: readonly SourceSpan[];
}

const CHARACTERS_MAX = 4_000_000;
/** Text of a page, and the result that has it. */
const RECENT_MAX = 2;
/** The names and addresses of a result take no page's place, and what is longer takes too much memory. */
const RECENT_CHARACTERS = { min: 1_000, max: 200_000 };

/** `secrets`: values by their names, `SITE_USERNAME` and `SITE_PASSWORD`; each is searched for as if a page was given it. */
export const redactor = (secrets: Readonly<Record<string, string>>): Redactor => redactorOf(valuesOf(secrets, true));

/** As `redactor`, before a page was given any of the values. */
export const redactorBeforeFill = (secrets: Readonly<Record<string, string>>): Redactor =>
  redactorOf(valuesOf(secrets, false));

const valuesOf = (secrets: Readonly<Record<string, string>>, isGiven: boolean): SecretValue[] =>
  Object.entries(secrets).map(([name, value]) => {
    const kind = name.endsWith('_USERNAME') ? 'username' : 'password';
    return { name, value, kind, isCurrent: true, isGiven };
  });

export function redactorOf(values: readonly SecretValue[]): Redactor {
  const all: Searched[] = [];
  const put = ({ name, value, kind, isGiven }: Omit<SecretValue, 'isCurrent'>, isCurrent: () => boolean): void =>
    void all.push({ name, value, kind, needles: needlesOf(name, value, kind), isCurrent, isGiven });
  for (const each of values) put(each, () => each.isCurrent);

  const given = (): Searched[] => all.filter(each => each.isGiven && each.isCurrent());
  /** Names that stay readable: all, but one that a value has in it. */
  const names = (): Set<string> =>
    new Set(all.map(({ name }) => name).filter(name => !all.some(({ value }) => value.includes(name))));
  /** A page that has not changed is read again after each call. */
  const recent: { readonly given: string; readonly searched: readonly Searched[]; readonly safe: string }[] = [];

  function redactWords(text: string, isWord: IsWord): string {
    const parts = given();
    const words = all.filter(each => !each.isGiven && each.isCurrent() && isWord(each.name));
    const searched = [...parts, ...words];
    if (searched.length === 0) return text;
    const read = text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}...` : text;
    const known = recent.find(each => each.given === read && isSame(each.searched, searched));
    if (known !== undefined) return known.safe;
    const marks = marksIn(read, names());
    const safe = replaceHits(read, [...search(read, marks, parts), ...searchWords(read, marks, words)]);
    if (read.length > RECENT_CHARACTERS.min && read.length <= RECENT_CHARACTERS.max)
      recent.push({ given: read, searched, safe });
    if (recent.length > RECENT_MAX) recent.shift();
    return safe;
  }

  return {
    redact: text => redactWords(text, () => true),
    redactWords,
    add: (name, value, kind, isCurrent = () => true) => put({ name, value, kind, isGiven: true }, isCurrent),
    give(name) {
      for (const each of all) if (each.name === name) each.isGiven = true;
    },
    values: () =>
      all.map(({ name, value, kind, isCurrent, isGiven }) => ({ name, value, kind, isCurrent: isCurrent(), isGiven })),
    holds(text) {
      const searched = given().filter(({ kind }) => kind !== 'username');
      if (searched.length === 0) return false;
      // A part of a code is in every page with numbers.
      for (const { run } of search(text, marksIn(text, names()), searched))
        if (run.isWhole || run.needle.kind === 'password') return true;
      return false;
    },
  };
}

const isSame = (one: readonly Searched[], other: readonly Searched[]): boolean =>
  one.length === other.length && one.every((each, index) => each === other[index]);

const MARK = /<secret>([A-Z0-9_]{1,200})<\/secret>|(?<![A-Za-z0-9_])[A-Z0-9_]{1,200}(?![A-Za-z0-9_])/g;

/** Places where a name stands: for a value already, or by itself. */
function marksIn(text: string, names: ReadonlySet<string>): [number, number][] {
  return [...text.matchAll(MARK)]
    .filter(([mark, name = mark]) => names.has(name))
    .map(({ 0: mark, index }) => [index, index + mark.length]);
}

const WORD_END = /[\p{L}\p{N}\p{M}_]$/u;
const WORD_START = /^[\p{L}\p{N}\p{M}_]/u;
/** As many characters as a letter takes. */
const LETTER_UNITS = 2;

/** Whole values that stand as words of their own, in each reading of the text. */
function* searchWords(text: string, marks: readonly [number, number][], words: readonly Searched[]): Generator<Hit> {
  if (words.length === 0) return;
  for (const view of decodedReadings(plainView(text, marks)))
    for (const { value, needles } of words) {
      const [needle] = needles.exact;
      if (needle === undefined) continue;
      for (let start = view.text.indexOf(value); start !== -1; start = view.text.indexOf(value, start + 1)) {
        const end = start + value.length;
        const before = view.text.slice(Math.max(0, start - LETTER_UNITS), start);
        const after = view.text.slice(end, end + LETTER_UNITS);
        if (WORD_END.test(before) || WORD_START.test(after)) continue;
        yield { run: { needle, start, end, isWhole: true }, parts: findSpans(view, start, end) };
      }
    }
}

/** An encoder in an encoder. */
const ENCODINGS_MAX = 3;

function* search(text: string, marks: readonly [number, number][], searched: readonly Searched[]): Generator<Hit> {
  if (searched.length === 0) return;
  const plain = plainView(text, marks);
  const runs = function* (view: TextView, which: keyof Searched['needles']): Generator<NeedleRun> {
    for (const { needles } of searched) for (const needle of needles[which]) yield* hitsIn(view, needle);
  };
  const find = function* (view: TextView, which: keyof Searched['needles']): Generator<Hit> {
    for (const run of mergeRuns(runs(view, which))) yield { run, parts: findSpans(view, run.start, run.end) };
  };
  const findFolded = function* (view: TextView): Generator<Hit> {
    const folded = foldedView(view);
    yield* find(folded, 'folded');
    yield* find(barePieces(folded, false), 'bare');
    yield* find(barePieces(folded, true), 'solid');
  };
  const findInSlots = function* (reading: TextView): Generator<Hit> {
    // Decoded here too: an escaped quote that is undone in the whole text ends its piece there.
    for (const { view, partsAt } of slotsIn(reading))
      for (const decoded of decodedReadings(view)) {
        for (const { run, parts } of findFolded(decoded)) yield { run, parts: parts.flatMap(partsAt) };
        // A tag in pieces that were joined may be part of the value.
        if (!decoded.text.includes('<')) continue;
        for (const solid of [false, true])
          for (const { run, parts } of find(
            barePieces(foldedView(decoded), solid, 'tags stay'),
            solid ? 'solid' : 'bare',
          ))
            yield { run, parts: parts.flatMap(partsAt) };
      }
  };
  yield* find(plain, 'exact');
  for (const reading of decodedReadings(plain)) {
    yield* findFolded(reading);
    yield* findInSlots(reading);
    let encoded: TextView | undefined = reading;
    for (let depth = 0; depth < ENCODINGS_MAX; depth += 1) {
      encoded = decodedRuns(encoded);
      if (encoded === undefined) break;
      for (const decoded of decodedReadings(encoded)) yield* findFolded(decoded);
    }
  }
  for (const radix of [10, 16] as const) {
    const codes = characterCodes(plain, radix);
    if (codes !== undefined) yield* find(foldedView(codes), 'folded');
  }
}

/** The end of a line or of a text in JSON: what a value is parted by here stays, so that the rest can be read. */
const BOUNDARY = /\n|(?<!\\)(?:\\\\)*"/;
/** After whole escapes a quote is that end too, though a reading of the text may take it for escaped. */
const ENDING = /(?<!\\)(?:\\\\)+"$/;
const ENDING_CHARACTERS = 100;

function replaceHits(text: string, hits: readonly Hit[]): string {
  if (hits.length === 0) return text;
  // As runs of the source they are merged as those of a view are.
  const runs = hits.flatMap(({ run, parts }) =>
    joinSpans(text, parts).map(({ from, to }) => ({ ...run, start: from, end: to })),
  );
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end, needle } of mergeRuns(runs)) {
    pieces.push(text.slice(at, start), `<secret>${needle.name}</secret>`);
    at = ENDING.test(text.slice(Math.max(start, end - ENDING_CHARACTERS), end)) ? end - 1 : end;
  }
  return pieces.join('') + text.slice(at);
}

/** The parts, with what is between them where that is no boundary. */
function joinSpans(text: string, parts: readonly SourceSpan[]): SourceSpan[] {
  const all: { from: number; to: number }[] = [];
  for (const { from, to } of parts.flatMap(part => linesOf(text, part))) {
    const last = all.at(-1);
    if (last !== undefined && from >= last.from && !BOUNDARY.test(text.slice(last.to, from)))
      last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}

/** The part without the ends of lines in it. */
function linesOf(text: string, { from, to }: SourceSpan): SourceSpan[] {
  const lines = text.slice(from, to).split('\n');
  let at = from;
  const found = lines.map(line => {
    const start = at;
    at += line.length + 1;
    return { from: start, to: start + line.length };
  });
  return found.filter(line => line.to > line.from);
}

/** Longest string that an event keeps. */
const STRING_CHARACTERS_MAX = 2_048;
const ARRAY_LENGTH_MAX = 50;

/** A longer string is not read beyond this: searching a million characters takes a second. */
const READ_CHARACTERS_MAX = 65_536;
/** At the end of what is read a part of a secret may stand, in about its longest spelling: nothing of it is kept. */
const UNSURE_CHARACTERS = 32_768;
/** The most that is read of one value with all its strings. */
const JSON_CHARACTERS_MAX = 131_072;

/** A JSON value as an event keeps it: strings redacted, then cut; long arrays cut. */
export function redactJson(value: unknown, redact: Redact): JsonValue {
  let left = JSON_CHARACTERS_MAX;
  const short = (given: string): string => {
    const text = given.toWellFormed();
    const read = text.slice(0, Math.min(READ_CHARACTERS_MAX, left));
    left -= read.length;
    if (read.length === text.length) return cut(redact(text));
    const safe = redact(read);
    return `${beginning(safe, Math.min(STRING_CHARACTERS_MAX, safe.length - UNSURE_CHARACTERS))}...`;
  };
  const kept = (each: unknown): JsonValue => {
    if (typeof each === 'string') return short(each);
    if (Array.isArray(each)) return each.slice(0, ARRAY_LENGTH_MAX).map(kept);
    if (typeof each === 'object' && each !== null)
      return Object.fromEntries(
        Object.entries(each)
          .slice(0, ARRAY_LENGTH_MAX)
          .map(([key, item]) => [short(key), kept(item)]),
      );
    return typeof each === 'number' || typeof each === 'boolean' ? each : null;
  };
  return kept(value);
}

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

const cut = (text: string): string =>
  text.length > STRING_CHARACTERS_MAX ? `${beginning(text, STRING_CHARACTERS_MAX)}...` : text;
