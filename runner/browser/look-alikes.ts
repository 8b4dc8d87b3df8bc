/**
 * Signs that readers take for ours. A model reads a full-width, a mathematical or a Cyrillic letter as the Latin one that it looks like, and a
 * bracket of another script as a bracket: https://www.unicode.org/reports/tr39/#Confusable_Detection
 */

/** For a square bracket that opens, in a character class. */
export const LIKE_BRACKETS =
  '\\[\u2045\u2768\u2772\u27e6\u27ec\u2983\u298b\u298d\u298f\u2e22\u2e24\u3010\u3014\u3016\u3018\u301a\ufe47\ufe5d\uff3b\uff62';
/** For a sign that is less than another. */
export const LIKE_LESS = '<\u2039\u2329\u276e\u27e8\u3008\ufe64\uff1c';

/** Blocks of Unicode with letters and signs that are compatible with ASCII. */
const COMPATIBLE = [
  [0xaa, 0xba],
  [0x1d2c, 0x1d6a],
  [0x2070, 0x209c],
  [0x2100, 0x2149],
  [0x24b6, 0x24e9],
  [0xff01, 0xff5e],
  [0x1d400, 0x1d7ff],
] as const;

/** Letters of other scripts and of phonetics that are drawn as these. */
const DRAWN_ALIKE: Readonly<Record<string, string>> = {
  a: '\u0430\u0251\u03b1\u0391\u0410',
  b: '\u0392\u0412\u042c\u044c\u0184',
  c: '\u0441\u03f2\u0421\u03f9\u1d04',
  d: '\u0501\u0500\u1d05',
  e: '\u0435\u04bd\u0415\u0395\u1d07\u212e',
  f: '\u0192\u03dd\ua730\ua799',
  g: '\u0261\u0581\u050d\u050c',
  h: '\u04bb\u04ba\u041d\u0397\u029c',
  i: '\u0456\u0406\u0131\u0269\u03b9\u0399\u04cf',
  k: '\u043a\u041a\u03ba\u039a\u1d0b',
  l: '\u04cf\u04c0\u0399\u029f\u05c0\u01c0',
  m: '\u043c\u041c\u039c\u1d0d',
  n: '\u0578\u057c\u039d\u0274\u03b7',
  o: '\u043e\u041e\u03bf\u039f\u0585\u0555\u1d0f',
  p: '\u0440\u0420\u03c1\u03a1\u1d18',
  q: '\u051b\u051a\u0563',
  r: '\u0433\u1d26\u0280\u027e\u2c85\uab47',
  s: '\u0455\u0405\u0282\ua731',
  t: '\u0442\u0422\u03c4\u03a4\u1d1b',
  u: '\u057d\u028b\u03c5\u1d1c',
  v: '\u0475\u0474\u03bd\u1d20',
  w: '\u051d\u051c\u0461\u1d21',
  x: '\u0445\u0425\u03c7\u03a7',
  y: '\u0443\u0423\u04af\u03b3\u03a5\u028f',
  z: '\u1d22\u0396\u0290',
};

const likenesses = new Map<string, string>();
const asciiOf = new Map<string, string>();

function add(sign: string, ascii: string): void {
  asciiOf.set(sign, ascii);
  const letter = ascii.toLowerCase();
  likenesses.set(letter, `${likenesses.get(letter) ?? letter}${sign}`);
}

for (const [first, last] of COMPATIBLE)
  for (let code = first; code <= last; code += 1) {
    const sign = String.fromCodePoint(code);
    const plain = sign.normalize('NFKC');
    if (/^[!-~]$/.test(plain)) add(sign, plain);
  }
for (const [letter, signs] of Object.entries(DRAWN_ALIKE)) for (const sign of signs) add(sign, letter);

/** A lower-case letter and what looks like it, for a character class. */
export const likenessesOf = (letter: string): string => likenesses.get(letter) ?? letter;

const OTHER = /[^\p{ASCII}]/gu;

/** The text with ASCII for what looks like it, for patterns alone: other scripts become unreadable. */
export const plainLetters = (text: string): string => text.replace(OTHER, sign => asciiOf.get(sign) ?? sign);
