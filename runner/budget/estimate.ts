import { beginning } from '../../contract/well-formed.ts';

/**
 * About how many tokens a text takes, rather more than less, without a tokenizer, whose tables take tens of megabytes. A test
 * compares it with the encoding o200k.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) tokens += tokensOf(piece);
  return Math.ceil(tokens);
}

/** The longest beginning of a text that takes at most about this many tokens. */
export function startOf(text: string, tokensMax: number): string {
  let tokens = 0;
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const more = tokensOf(piece);
    if (tokens + more > tokensMax) {
      // A piece may be as long as the text: its tokens are spread about evenly.
      const part = Math.floor((piece.length * (tokensMax - tokens)) / more);
      return beginning(text, index + Math.max(0, part));
    }
    tokens += more;
  }
  return text;
}

/** Refs, words and signs with the space before them, up to three digits, spaces, line breaks, and each other character. */
const PIECES = / \[ref=[\da-z]{1,20}\]\n?| ?[A-Za-z]+|\d{1,3}| ?[!-/:-@[-`{-~]{1,2}[\r\n]*|[ \t]+|[\r\n]+|[^ -~\s]/gu;

/** A word between others, such as `of`, `The` and `URL`. */
const SHORT_WORD = /^ (?:[A-Za-z][a-z]{0,2}|[A-Z]{2,3})$/;
/** A token is most often a word, or this many letters of a longer one; of what is no word, fewer. */
const LETTERS = 6;
const RANDOM_LETTERS = 1.7;

function tokensOf(piece: string): number {
  if (piece.startsWith(' [ref=')) return refTokens(piece);
  const word = piece.trimStart();
  if (SHORT_WORD.test(piece)) return 1;
  if (/^[A-Za-z]/.test(word)) return wordTokens(word);
  const code = word.codePointAt(0) ?? 0;
  return code > 0x7f ? characterTokens(code) : 1;
}

/** Its brackets, its word, and each letter with the sign or the digits beside it. */
const refTokens = (piece: string): number => 3 + (piece.match(/[a-z]+(?==)|\d{1,3}|[a-z](?=\d)/g) ?? []).length - 1;

function wordTokens(word: string): number {
  const humps = word.match(/[A-Z]+[a-z]*|[a-z]+/g) ?? [];
  const isRandom = humps.length > 2 || !/[a-z]{3}/.test(word);
  const tokensIn = ({ length }: string) =>
    isRandom ? Math.ceil(length / RANDOM_LETTERS) : Math.max(1, length / LETTERS);
  return humps.reduce((sum, hump) => sum + tokensIn(hump), 0);
}

function characterTokens(code: number): number {
  if (code > 0xffff) return 3;
  // Greek, Cyrillic, Hebrew and Arabic have tokens of several letters.
  return code >= 0x370 && code < 0x700 ? 0.5 : 1.2;
}
