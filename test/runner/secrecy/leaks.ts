/** Encodings that a reader, with another program at hand, can undo: each gives another reading of a text. */
const READINGS: readonly ((text: string) => string)[] = [
  text => text,
  text => text.replace(/<[^<>]*>/g, ''),
  text => text.replace(/[\u200b-\u200f\u2060\ufeff\u00ad]/g, ''),
  text =>
    text
      .replace(/&#(\d+);?/g, (_all, code) => String.fromCodePoint(Number(code)))
      .replace(/&#x([0-9a-f]+);?/gi, (_all, code) => String.fromCodePoint(Number.parseInt(code, 16)))
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&apos;', "'")
      .replaceAll('&amp;', '&'),
  text =>
    text
      .replace(/\\u([0-9a-f]{4})/gi, (_all, code) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(/\\(["'\\/])/g, '$1'),
  text => text.replace(/(?:%[0-9a-f]{2})+/gi, found => Buffer.from(found.replaceAll('%', ''), 'hex').toString('utf8')),
  text => text.replaceAll('+', ' '),
  text => text.normalize('NFKC').toLowerCase(),
];

/** The shortest part of a value that counts: more than half of it. */
const partsOf = (value: string): string[] => {
  const letters = [...value];
  const size = Math.floor(letters.length / 2) + 1;
  return Array.from({ length: letters.length - size + 1 }, (_, from) => letters.slice(from, from + size).join(''));
};

/** The parts of a value that a text gives away, in whatever spelling; none: it keeps the secret. */
export function leaksOf(text: string, value: string): string[] {
  const readings = new Set([text]);
  for (let depth = 0; depth < 2; depth += 1)
    for (const each of [...readings]) for (const read of READINGS) readings.add(read(each));
  const plain = [...readings];
  const bare = plain.map(each => each.replace(/[^\p{L}\p{N}\p{S}]/gu, ''));
  const found = partsOf(value).filter(part => {
    const parts = [part, part.normalize('NFKC').toLowerCase(), [...part].reverse().join('')];
    const solid = part.replace(/[^\p{L}\p{N}\p{S}]/gu, '');
    return (
      plain.some(each => parts.some(one => each.includes(one))) ||
      bare.some(each => solid.length > 4 && each.includes(solid))
    );
  });
  const bytes = Buffer.from(value);
  const encoded = [0, 1, 2].map(before => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return all.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length * 0.6) * 8) / 6));
  });
  const hex = bytes.toString('hex').slice(0, Math.ceil(bytes.length * 1.2));
  return [...found, ...[...encoded, hex].filter(each => plain.some(reading => reading.includes(each)))];
}
