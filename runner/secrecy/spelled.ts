const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Shorter ones are in any text by chance. */
const ENCODED_CHARACTERS_MIN = 6;

/** A value as a program may spell it where a person reads it: an address, a source text, a dump. */
export function spellValue(value: string): string[] {
  const bytes = Buffer.from(value);
  const escaped = JSON.stringify(value).slice(1, -1);
  const spellings = [
    encodeURIComponent(value),
    new URLSearchParams({ v: value }).toString().slice(2),
    URL.parse(`http://x/?${value}`)?.search.slice(1) ?? value,
    escaped,
    escaped.replace(/[^ -~]/g, unicodeEscape),
    escaped.replace(/[&<>'"]|[^ -~]/g, unicodeEscape),
    value.replace(/[&<>"']/g, character => ENTITIES[character] ?? character),
    ...(value.length < ENCODED_CHARACTERS_MIN ? [] : [bytes.toString('hex'), ...base64(bytes)]),
  ];
  return [...new Set(spellings)];
}

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** It starts anywhere in what is encoded; the characters at either end hold bits of what stands beside it. */
function base64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const inner = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
