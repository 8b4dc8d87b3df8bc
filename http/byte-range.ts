/** Bytes of a content, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The part of a body that a `Range` header asks for (RFC 9110, 14.2): undefined is the whole, as for a header that is missing, that
 * asks for several ranges or is no range of bytes; `unsatisfiable` is a 416.
 */
export function byteRange(header: string | undefined, bytes: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const suffix = Number(last);
    return suffix === 0 || bytes === 0 ? 'unsatisfiable' : { start: Math.max(0, bytes - suffix), end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (start >= bytes) return 'unsatisfiable';
  return end < start ? undefined : { start, end };
}
