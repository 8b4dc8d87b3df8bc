/** Text in whole characters: model APIs refuse a conversation that holds half of a surrogate pair, in every later turn again. */

/** The beginning of a text, of at most a given number of UTF-16 units, that ends with a whole character. */
export const beginning = (text: string, unitsMax: number): string => {
  const start = text.slice(0, Math.max(0, unitsMax));
  return isHigh(start.charCodeAt(start.length - 1)) && start.length < text.length ? start.slice(0, -1) : start;
};

/** The same from an index, which a match of a pattern without the flag `u` may have put inside a pair. */
export const partOf = (text: string, from: number, to: number): string => {
  const start = Math.max(0, from);
  return beginning(isLow(text.charCodeAt(start)) && start > 0 ? text.slice(start + 1) : text.slice(start), to - start);
};

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** U+FFFD stands for each half of a pair; in JSON, where a half is written as an escape, too. */
export const makeWellFormed = (text: string): string => {
  const whole = text.toWellFormed();
  return whole.startsWith('{') || whole.startsWith('[') || whole.startsWith('"')
    ? whole.replace(HALF_ESCAPE, (_all, slashes: string, pair?: string) => `${slashes}${pair ?? '\ufffd'}`)
    : whole;
};

/** An escape of a whole pair, or of half of one; before it an even number of backslashes. */
const HALF_ESCAPE = /(?<!\\)((?:\\\\)*)(?:(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2})/gi;
