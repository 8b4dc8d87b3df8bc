/** One message of the DevTools pipe. */
export interface PipeMessage {
  /** Its first and last characters, without the NUL. */
  readonly head: string;
  readonly tail: string;
  readonly bytes: number;
  /** With its NUL; undefined: too long to be kept. */
  readonly whole: Buffer | undefined;
}

const HEAD_BYTES = 256;
const TAIL_BYTES = 128;

/**
 * Splits what is read at its NULs. `bytesMaxOf` says by its head how long a message may be, `keptBytes` or more; of a
 * longer one only the ends are kept.
 */
export function messageReader(
  keptBytes: number,
  bytesMaxOf: (head: string) => number,
): (chunk: Buffer, each: (message: PipeMessage) => void) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let tail = '';
  /** Known of a message that is longer than `keptBytes`. */
  let long: { readonly head: string; readonly bytesMax: number } | undefined;

  const keep = (part: Buffer) => {
    bytes += part.length;
    parts.push(part);
    if (bytes <= keptBytes) return;
    if (long === undefined) {
      const head = Buffer.concat(parts).toString('latin1', 0, HEAD_BYTES);
      long = { head, bytesMax: bytesMaxOf(head) };
    }
    if (bytes <= long.bytesMax) return;
    tail = `${tail}${parts.map(kept => kept.toString('latin1', Math.max(0, kept.length - TAIL_BYTES))).join('')}`;
    tail = tail.slice(-TAIL_BYTES);
    parts = [];
  };

  const message = (): PipeMessage => {
    if (long !== undefined && bytes > long.bytesMax)
      return { head: long.head, tail: tail.slice(0, -1), bytes, whole: undefined };
    const whole = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    const end = whole.length - 1;
    return {
      head: whole.toString('latin1', 0, Math.min(HEAD_BYTES, end)),
      tail: whole.toString('latin1', Math.max(0, end - TAIL_BYTES), end),
      bytes,
      whole,
    };
  };

  return (chunk, each) => {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      keep(chunk.subarray(start, end + 1));
      const read = message();
      parts = [];
      bytes = 0;
      tail = '';
      long = undefined;
      each(read);
      start = end + 1;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  };
}
