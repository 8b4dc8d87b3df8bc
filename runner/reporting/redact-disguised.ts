/**
 * Other ways in which a page may write a value down: base64 (wherever it starts in what is encoded), hex, backwards.
 * Values too short to be told from chance are left to their plain forms.
 */
const CHARACTERS_MIN = 6;

export function encodedForms(value: string): string[] {
  if (value.length < CHARACTERS_MIN) return [];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].flatMap(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The characters at either end hold bits of what stands beside the value.
    const inner = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [...base64, hex, hex.toUpperCase(), [...value].reverse().join('')];
}

/** Letters and digits of a value that is worth looking for in pieces. */
const PIECES_MIN = 8;
const SOLID = /[\p{L}\p{N}]/u;
/** What a page or a snapshot puts between pieces: a tag, or the start of a line of the tree. */
const BETWEEN = /<[^<>]{0,300}>|- [a-z]+(?: \[[^\]\n]{0,80}\])*:/gy;
/** So much may stand between two letters of a value that is taken for one. */
const GAP_MAX = 400;

export interface Piecewise {
  readonly name: string;
  readonly solid: string;
}

/** A value as its letters and digits alone; undefined: too few of them. */
export function piecewise(name: string, value: string): Piecewise | undefined {
  const solid = [...value].filter(character => SOLID.test(character)).join('');
  return solid.length >= PIECES_MIN ? { name, solid } : undefined;
}

/**
 * Finds values that were split up: by spaces, dots, tags, or over several elements of a snapshot. Linear in the text.
 */
export function redactPieces(text: string, values: readonly Piecewise[]): string {
  if (values.length === 0) return text;
  const { solid, at } = solidPart(text);
  const found = values
    .flatMap(({ name, solid: wanted }) => {
      const hits: { name: string; from: number; to: number }[] = [];
      for (let i = solid.indexOf(wanted); i !== -1; i = solid.indexOf(wanted, i + wanted.length)) {
        const last = i + wanted.length - 1;
        const close = at.slice(i, last).every((place, n) => (at[i + n + 1] ?? 0) - place <= GAP_MAX);
        if (close) hits.push({ name, from: at[i] ?? 0, to: (at[last] ?? 0) + 1 });
      }
      return hits;
    })
    .sort((a, b) => b.from - a.from);
  let clean = text;
  let end = text.length;
  for (const { name, from, to } of found) {
    if (to > end) continue;
    clean = `${clean.slice(0, from)}<secret>${name}</secret>${clean.slice(to)}`;
    end = from;
  }
  return clean;
}

/** The letters and digits of a text, without tags, and where each of them stood. */
function solidPart(text: string): { solid: string; at: number[] } {
  const at: number[] = [];
  let solid = '';
  for (let i = 0; i < text.length; ) {
    const character = text[i] ?? '';
    if (character === '<' || character === '-') {
      BETWEEN.lastIndex = i;
      const tag = BETWEEN.exec(text);
      if (tag !== null) {
        i += tag[0].length;
        continue;
      }
    }
    if (SOLID.test(character)) {
      solid += character;
      at.push(i);
    }
    i += 1;
  }
  return { solid, at };
}
