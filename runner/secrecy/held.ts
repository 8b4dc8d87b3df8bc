import { spellValue } from './spelled.ts';

export type SecretKind = 'username' | 'password' | 'code';

/** One way in which a value may be drawn: `size` characters of it in a row are more than half. */
export interface DrawnForm {
  readonly text: string;
  readonly size: number;
  /** Without the punctuation of both. */
  readonly bare: boolean;
}

/** As a reader sees it: no case, no spaces, no invisible characters. Self-contained: it also runs in pages. */
export const fold = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{Cf}]/gu, '');

/** A shorter run of letters and digits than this is in any text. */
const BARE_CHARACTERS_MIN = 4;
const EDITED_CHARACTERS_MIN = 4;
/** A shorter username identifies its user only as a whole. */
const NAME_CHARACTERS_MIN = 8;

/**
 * How a value may be drawn: in any spelling, reversed, and with other characters between its letters and digits. More
 * than half of it counts, of a username all of it, or more than half of a long one before its @.
 */
export function formsOf(value: string, kind: SecretKind): DrawnForm[] {
  const isName = kind === 'username';
  const [name = ''] = value.split('@');
  const forms = [
    ...bothWays(fold(value), false, isName),
    ...spellValue(value).map(text => createForm(fold(text), false, isName)),
    ...bareForms(value, isName),
    ...(isName && name.length >= NAME_CHARACTERS_MIN
      ? [...bothWays(fold(name), false, false), ...bareForms(name, false)]
      : []),
  ];
  const isFirst = ({ text, bare }: DrawnForm, at: number): boolean =>
    forms.findIndex(other => other.text === text && other.bare === bare) === at;
  return forms.filter(({ text }) => text !== '').filter(isFirst);
}

/** The rest of a value in its field, all of it; undefined: too little to be distinguished from other text. */
export function formOfEdited(text: string): DrawnForm | undefined {
  const folded = fold(text);
  return folded.length < EDITED_CHARACTERS_MIN ? undefined : { text: folded, size: folded.length, bare: false };
}

function bareForms(value: string, whole: boolean): DrawnForm[] {
  const letters = fold(value).replace(/[^\p{L}\p{N}]/gu, '');
  return bothWays(letters, true, whole).filter(({ size }) => size >= BARE_CHARACTERS_MIN);
}

const bothWays = (text: string, bare: boolean, whole: boolean): DrawnForm[] =>
  [text, [...text].reverse().join('')].map(way => createForm(way, bare, whole));

const createForm = (text: string, bare: boolean, whole: boolean): DrawnForm => ({
  text,
  size: whole ? text.length : Math.floor(text.length / 2) + 1,
  bare,
});

/**
 * Indexes of the texts that hold more than half of a value, alone or with what stands next to them. Self-contained: it
 * also runs in pages.
 */
export function findHeldTexts(
  texts: readonly string[],
  forms: readonly DrawnForm[],
  folded: (text: string) => string,
): Set<number> {
  const found = new Set<number>();
  for (const bare of [false, true]) {
    const wanted = forms.filter(form => form.bare === bare);
    if (wanted.length === 0) continue;
    const starts: number[] = [];
    let all = '';
    for (const text of texts) {
      starts.push(all.length);
      const plain = folded(text);
      all += bare ? plain.replace(/[^\p{L}\p{N}]/gu, '') : plain;
    }
    const indexAt = (at: number): number => {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((starts[middle] ?? 0) <= at) low = middle;
        else high = middle - 1;
      }
      return low;
    };
    for (const { text, size } of wanted) {
      // Every run of more than half has the middle in it: look for that first.
      const last = text.length - size;
      const middle = text.slice(last, size);
      for (let at = all.indexOf(middle); at !== -1; at = all.indexOf(middle, at + 1)) {
        let begin = at;
        while (at - begin < last && all[begin - 1] === text[last - (at - begin) - 1]) begin -= 1;
        let end = at + middle.length;
        while (end - at < text.length - last && all[end] === text[last + (end - at)]) end += 1;
        if (end - begin < size) continue;
        for (let index = indexAt(begin); index <= indexAt(end - 1); index += 1) found.add(index);
      }
    }
  }
  // Beside pieces that are found stand others, in an order that only their places on the page give.
  const isPiece = (index: number): boolean => [...(texts[index]?.trim() ?? '')].length <= 2;
  for (const index of [...found])
    for (const step of [-1, 1])
      for (let next = index + step; next >= 0 && next < texts.length && !found.has(next) && isPiece(next); next += step)
        found.add(next);
  return found;
}
