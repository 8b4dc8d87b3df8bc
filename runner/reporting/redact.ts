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
   * a program can undo. Texts of more than four million characters are cut there.
   */
  readonly redact: Redact;
  /** Whether a text holds a password or more than half of one, or a code. */
  holds(text: string): boolean;
  /** From now on this value is searched for too, as long as `isCurrent` says so. */
  add(name: string, value: string, kind: SecretValueKind, isCurrent?: () => boolean): void;
  /** All values with which another redactor finds now what this one does. */
  values(): SecretValue[];
}

/** One value of a lease, as it was added. */
export interface SecretValue {
  readonly name: string;
  readonly value: string;
  readonly kind: SecretValueKind;
  readonly isCurrent: boolean;
}

interface Searched {
  readonly name: string;
  readonly value: string;
  readonly kind: SecretValueKind;
  readonly needles: ReturnType<typeof needlesOf>;
  readonly isCurrent: () => boolean;
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

/** `secrets`: values by their names, `SITE_USERNAME` and `SITE_PASSWORD`. */
export function redactor(secrets: Readonly<Record<string, string>>): Redactor {
  const all: Searched[] = [];
  const names = new Set<string>();
  const add: Redactor['add'] = (name, value, kind, isCurrent = () => true) => {
    names.add(name);
    all.push({ name, value, kind, needles: needlesOf(name, value, kind), isCurrent });
  };
  for (const [name, value] of Object.entries(secrets))
    add(name, value, name.endsWith('_USERNAME') ? 'username' : 'password');

  const current = (): Searched[] => all.filter(({ isCurrent }) => isCurrent());
  /** A page that has not changed is read again after each call. */
  const recent: { readonly given: string; readonly searched: readonly Searched[]; readonly safe: string }[] = [];

  return {
    add,
    values: () => all.map(({ name, value, kind, isCurrent }) => ({ name, value, kind, isCurrent: isCurrent() })),
    redact(text) {
      const searched = current();
      if (searched.length === 0) return text;
      const given = text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}...` : text;
      const known = recent.find(each => each.given === given && isSame(each.searched, searched));
      if (known !== undefined) return known.safe;
      const safe = replaceHits(given, [...search(given, marksIn(given, names), searched)]);
      if (given.length > RECENT_CHARACTERS.min && given.length <= RECENT_CHARACTERS.max)
        recent.push({ given, searched, safe });
      if (recent.length > RECENT_MAX) recent.shift();
      return safe;
    },
    holds(text) {
      const searched = current().filter(({ kind }) => kind !== 'username');
      if (searched.length === 0) return false;
      // A part of a code is in every page with numbers.
      for (const { run } of search(text, marksIn(text, names), searched))
        if (run.isWhole || run.needle.kind === 'password') return true;
      return false;
    },
  };
}

const isSame = (one: readonly Searched[], other: readonly Searched[]): boolean =>
  one.length === other.length && one.every((each, index) => each === other[index]);

/** Places where a name stands for a value already. */
function marksIn(text: string, names: ReadonlySet<string>): [number, number][] {
  return [...text.matchAll(/<secret>([A-Z0-9_]{1,200})<\/secret>/g)]
    .filter(([, name = '']) => names.has(name))
    .map(({ 0: mark, index }) => [index, index + mark.length]);
}

/** An encoder in an encoder. */
const ENCODINGS_MAX = 3;

function* search(text: string, marks: readonly [number, number][], searched: readonly Searched[]): Generator<Hit> {
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
