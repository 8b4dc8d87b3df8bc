import { BARRIER, type TextView, ViewWriter } from './view.ts';

/** Bytes that were read from a run of digits; `digitAt` says with which digit a byte begins. */
interface Decoded {
  readonly bytes: Buffer;
  digitAt(byte: number): number;
}

/** Runs of an alphabet's digits, and what they may be read as: where a run begins in what was encoded is not known. */
interface Alphabet {
  readonly runs: RegExp;
  read(run: string): Decoded[];
}

const decodeFrom = (starts: readonly number[], read: (start: number) => Decoded): Decoded[] => starts.map(read);

const ALPHABETS: readonly Alphabet[] = [
  {
    runs: /[a-z0-9+/_-]{12,}/gi,
    read: run =>
      decodeFrom([0, 1, 2, 3], start => ({
        bytes: Buffer.from(run.slice(start), 'base64'),
        digitAt: byte => start + Math.floor((byte * 8) / 6),
      })),
  },
  {
    runs: /[0-9a-f]{12,}/gi,
    read: run =>
      decodeFrom([0, 1], start => ({
        bytes: Buffer.from(run.slice(start, run.length - ((run.length - start) % 2)), 'hex'),
        digitAt: byte => start + byte * 2,
      })),
  },
  {
    runs: /[01]{8}(?:[01]{8}){3,}|[01]{8}(?:[\s,][01]{8}){3,}/g,
    read(run) {
      const width = /^[01]{9}/.test(run) ? 8 : 9;
      const starts = Array.from({ length: Math.ceil(run.length / width) }, (_, byte) => byte * width);
      const bytes = Buffer.from(starts.map(start => Number.parseInt(run.slice(start, start + 8), 2)));
      return [{ bytes, digitAt: byte => byte * width }];
    },
  },
];

/** Words have the digits of base64 too, but what they are read as is seldom legible for longer. */
const LEGIBLE_MIN = 4;
/** About every second byte of UTF-16 is zero, where most of it is of the Latin alphabet. */
const ZEROS_MIN = 0.25;

/** Texts of runs of base64, hexadecimal and binary digits, as far as they are legible; undefined: nothing. */
export function decodedRuns(view: TextView): TextView | undefined {
  const writer = new ViewWriter(1_000);
  let any = false;
  for (const { runs, read } of ALPHABETS)
    for (const { 0: run, index } of view.text.matchAll(runs))
      for (const decoded of read(run)) {
        const legible = legibleWriter(writer, view, index, decoded.digitAt);
        for (const characters of readBytes(decoded.bytes)) any = legible(characters) || any;
      }
  return any ? writer.view() : undefined;
}

/** A character, with the bytes from which it was read. */
type Character = readonly [text: string, byte: number, size: number];

function readBytes(bytes: Buffer): Iterable<Character>[] {
  let zeros = 0;
  for (const byte of bytes) if (byte === 0) zeros += 1;
  if (zeros < bytes.length * ZEROS_MIN) return [utf8(bytes)];
  return [0, 1].flatMap(start => [utf16(bytes, start, 'readUInt16LE'), utf16(bytes, start, 'readUInt16BE')]);
}

function* utf8(bytes: Buffer): Generator<Character> {
  for (let byte = 0; byte < bytes.length; ) {
    const lead = bytes[byte] ?? 0;
    const size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    yield [lead < 0x80 ? String.fromCharCode(lead) : bytes.toString('utf8', byte, byte + size), byte, size];
    byte += size;
  }
}

function* utf16(bytes: Buffer, start: number, read: 'readUInt16LE' | 'readUInt16BE'): Generator<Character> {
  for (let byte = start; byte + 1 < bytes.length; byte += 2) yield [String.fromCharCode(bytes[read](byte)), byte, 2];
}

/** Writes stretches of characters that are long enough; false: there is none. */
function legibleWriter(writer: ViewWriter, { from, to }: TextView, index: number, digitAt: Decoded['digitAt']) {
  const write = ([text, byte, size]: Character) => {
    const last = index + digitAt(byte + size) - 1;
    writer.add(text, from[index + digitAt(byte)] ?? 0, to[last] ?? to[to.length - 1] ?? 0);
  };
  return (characters: Iterable<Character>): boolean => {
    let any = false;
    let length = 0;
    let waiting: Character[] = [];
    for (const character of characters) {
      if (LEGIBLE.test(character[0])) {
        length += 1;
        if (length > LEGIBLE_MIN) write(character);
        else waiting.push(character);
        if (length === LEGIBLE_MIN) {
          waiting.forEach(write);
          any = true;
        }
        continue;
      }
      if (length >= LEGIBLE_MIN) writer.add(BARRIER, from[index] ?? 0, from[index] ?? 0);
      length = 0;
      waiting = [];
    }
    if (length >= LEGIBLE_MIN) writer.add(BARRIER, from[index] ?? 0, from[index] ?? 0);
    return any;
  };
}

/** For UTF-16 also the halves of a character. */
const LEGIBLE = /^(?:[^\p{C}\ufffd]|\s|[\ud800-\udfff])$/u;
