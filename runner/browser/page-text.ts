/**
 * Text of a page, as results carry it. A page chooses what it says, where it breaks and what it looks like: on a line of its own it could
 * pass for a heading, a note or an element of a snapshot, which are the product's own words.
 */

import { LIKE_BRACKETS, LIKE_LESS, likenessesOf, plainLetters } from './look-alikes.ts';

/** Ends of lines in any convention, and characters of control. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
const BREAKS = /[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;
/**
 * They are not seen, or turn the direction of what comes after them. Joiners and selectors stay behind signs of other scripts than ours,
 * which are made of them; the product's own words are not.
 */
const UNSEEN = /(?<!\P{ASCII})\p{DI}+|[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const MARK_WORDS =
  'ref|placeholder|active|checked|current|disabled|expanded|invalid|max|min|pressed|readonly|required|selected|sort|unchanged|cursor|level|box';
/** A word, in letters that look like its own too, whatever stands unseen between them. */
const loosely = (word: string): string => [...word].map(letter => `[${likenessesOf(letter)}]`).join('\\p{DI}*');
/** How refs and states of a snapshot begin. */
const MARK = new RegExp(
  `[${LIKE_BRACKETS}](?=[\\s\\p{DI}]*(?:${MARK_WORDS.split('|').map(loosely).join('|')})(?![a-z\\d_]))`,
  'giu',
);
/** How a secret's name stands for its value. */
const SECRET_MARK = new RegExp(
  `[${LIKE_LESS}](?=\\p{DI}*[/\uff0f\u2044\u2215]?\\p{DI}*${loosely('secret')}\\p{DI}*[>\uff1e\u203a\u232a\u27e9\u3009\ufe65])`,
  'giu',
);

/** The text without marks that only the product writes: their brackets are round. */
export const withoutMarks = (text: string): string => text.replace(MARK, '(').replace(SECRET_MARK, '(');

/** The text on one line, without marks. Every text of a page that stands in a result goes through here, or through `bareText`. */
export const oneLine = (text: string): string =>
  withoutMarks(text.toWellFormed().replace(UNSEEN, '').replace(BREAKS, ' ').trim());

/** Those of WAI-ARIA 1.3 and of Playwright's trees: https://w3c.github.io/aria/#role_definitions */
const ROLES =
  'alert|alertdialog|application|article|banner|blockquote|button|caption|cell|checkbox|code|columnheader|combobox|comment|complementary|' +
  'contentinfo|definition|deletion|dialog|directory|document|emphasis|feed|figure|form|generic|grid|gridcell|group|heading|iframe|image|' +
  'img|insertion|link|list|listbox|listitem|log|main|mark|marquee|math|menu|menubar|menuitem|menuitemcheckbox|menuitemradio|meter|' +
  'navigation|note|option|paragraph|presentation|progressbar|radio|radiogroup|region|row|rowgroup|rowheader|scrollbar|search|searchbox|' +
  'separator|slider|spinbutton|status|strong|subscript|suggestion|superscript|switch|tab|table|tablist|tabpanel|term|text|textbox|time|' +
  'timer|toolbar|tooltip|tree|treegrid|treeitem';
/** A role with a name, a state or a text; the beginning of a line, a note or a quotation; what stands between cells. */
const IMITATES = new RegExp(
  `(?:^|\\W)(?:${ROLES}) (?:["~]|\\((?:${MARK_WORDS})\\b)|^(?:${ROLES}):(?: |$)|` +
    `^(?:- |#{1,6} |"|/url:|Gone: |\\((?:\\d+ more|cut:|current))| \\| `,
);

/** The text as it stands unquoted in a line of a snapshot: quoted where it could be read as something else than text. */
export function bareText(text: string): string {
  const line = oneLine(text);
  return IMITATES.test(plainLetters(line)) ? JSON.stringify(line) : line;
}

/** The text with its lines and spaces, as they are read in JSON. */
export const exactText = (text: string): string =>
  JSON.stringify(withoutMarks(text.toWellFormed().replace(OTHER_BREAKS, '\n').replace(UNSEEN, '')));

/** A line of preformatted text, with its spaces, as it stands behind a bar: quoted where it could be read as something else. */
export function exactLine(text: string): string {
  const plain = text.toWellFormed().replace(OTHER_BREAKS, ' ').replace(UNSEEN, '').replace(CONTROLS, ' ');
  const line = withoutMarks(plain).trimEnd();
  return IMITATES.test(plainLetters(line.trimStart())) ? JSON.stringify(line) : line;
}

/** Characters of control, except tabs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** The text as it stands between quotation marks of ours or of Playwright's. */
export const quotedText = (text: string): string => JSON.stringify(oneLine(text)).slice(1, -1);

/** An address on one line; encoded where it could be read as a mark. */
export const oneLineAddress = (url: string): string =>
  url.replace(UNSEEN, '').replace(BREAKS, '%20').replace(MARK, '%5B').replace(SECRET_MARK, '%3C');

/** A text of several lines, as a quotation. */
export const quotedLines = (text: string): string =>
  withoutMarks(text.replace(OTHER_BREAKS, '\n').replace(UNSEEN, '')).replace(/^/gm, '> ');

/** Breaks that JSON and plain text leave as they are, and that some readers take for ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
const OTHER_BREAKS = /\r\n?|[\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/g;

/** A whole result's text, its own lines kept: no break in it is one that only some readers see. */
export const withPlainBreaks = (text: string): string => text.replace(/\r\n/g, '\n').replace(OTHER_BREAKS, ' ');

/** A message of an error, which a page may have worded; the log that Playwright adds keeps its lines. */
export function errorLines(message: string): string {
  const [said = '', ...logs] = message.split('\nCall log:\n');
  const lines = logs
    .join('\n')
    .split('\n')
    .map(oneLine)
    .filter(line => line !== '');
  return [bareText(said), ...(lines.length > 0 ? ['Call log:', ...lines.map(line => `  ${bareLog(line)}`)] : [])].join(
    '\n',
  );
}

/** Lines of that log begin with a hyphen, and quote elements on one line. */
const bareLog = (line: string): string => (line.startsWith('- ') ? line : `- ${line}`);
