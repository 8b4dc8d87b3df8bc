import { BARRIER, type View, ViewWriter } from './view.ts';

/** Bytes that were read from a run of digits; `digitAt` tells with which digit a byte begins. */
interface Decoded {
  readonly bytes: Buffer;
  digitAt(byte: number): number;
}

/** Runs of an alphabet's digits, and what they may be read as: where a run begins in what was encoded is not known. */
interface Alphabet {
  readonly runs: RegExp;
  read(run: string): Decoded[];
}

const from = (starts: readonly number[], read: (start: number) => Decoded): Decoded[] => starts.map(read);

const ALPHABETS: readonly Alphabet[] = [
  {
    runs: /[a-z0-9+/_-]{12,}/gi,
    read: run =>
      from([0, 1, 2, 3], start => ({
        bytes: Buffer.from(run.slice(start), 'base64'),
        digitAt: byte => start + Math.floor((byte * 8) / 6),
      })),
  },
  {
    runs: /[0-9a-f]{12,}/gi,
    read: run =>
      from([0, 1], start => ({
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

/**
 * What runs of base64, hexadecimal and binary digits say, as far as it is legible; undefined: nothing. Of UTF-16 the zeros
 * are left out.
 */
export function decodedRuns(view: View): View | undefined {
  const writer = new ViewWriter(1_000);
  let any = false;
  for (const { runs, read } of ALPHABETS)
    for (const { 0: run, index } of view.text.matchAll(runs))
      for (const decoded of read(run)) any = writeLegible(writer, view, index, decoded) || any;
  return any ? writer.view() : undefined;
}

function writeLegible(writer: ViewWriter, { from, to }: View, index: number, { bytes, digitAt }: Decoded): boolean {
  let any = false;
  let stretch: { text: string; byte: number; size: number }[] = [];
  const flush = () => {
    if (stretch.length >= LEGIBLE_MIN) {
      for (const { text, byte, size } of stretch) {
        const last = index + digitAt(byte + size) - 1;
        writer.add(text, from[index + digitAt(byte)] ?? 0, to[last] ?? to[to.length - 1] ?? 0);
      }
      writer.add(BARRIER, from[index] ?? 0, from[index] ?? 0);
      any = true;
    }
    stretch = [];
  };
  for (let byte = 0; byte < bytes.length; ) {
    const lead = bytes[byte] ?? 0;
    const size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const text = lead < 0x80 ? String.fromCharCode(lead) : bytes.toString('utf8', byte, byte + size);
    if (lead !== 0 && /^[^\p{C}\ufffd]$|^\s$/u.test(text)) stretch.push({ text, byte, size });
    else if (lead !== 0) flush();
    byte += size;
  }
  flush();
  return any;
}
