/** Undefined: the bytes are not text. `isCut`: the last character may not be whole. */
export function textIn(bytes: Buffer, { isCut = false } = {}): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
