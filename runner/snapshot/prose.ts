import type { Outline } from './outline.ts';

/** Elements that hold a sentence. */
const HOLDERS = new Set([
  'paragraph',
  'listitem',
  'definition',
  'term',
  'caption',
  'note',
  'status',
  'alert',
  'blockquote',
]);
const PIECES = new Set(['text', 'link', 'generic', 'button', 'img', 'deletion', 'insertion']);
const PIECES_MAX = 40;
const CHARACTERS_MAX = 2_000;

/** A sentence that is made of texts and of what can be acted on. */
export interface Prose {
  /** As a snapshot shows it. */
  readonly line: string;
  /** The words alone. */
  readonly text: string;
}

/** The sentence of an element in one line; undefined: it holds none, or no piece but a text. */
export function proseOf({ role, line, children }: Outline): Prose | undefined {
  if (!HOLDERS.has(role) || children.length < 2 || children.length > PIECES_MAX) return undefined;
  if (!children.every(isPiece) || !children.some(child => child.role === 'text')) return undefined;
  const separator = /: /.test(line) ? ' ' : ': ';
  const whole = `${line}${separator}${children.map(shownPiece).join(' ')}`;
  return whole.length > CHARACTERS_MAX ? undefined : { line: whole, text: children.map(wordsOf).join(' ') };
}

const isPiece = ({ role, children }: Outline): boolean =>
  PIECES.has(role) && children.every(child => child.role === '/url');

const TEXT = /^text: (.*)$/s;
const NAMED = /^[^ :]+ ("(?:[^"\\]|\\.)*")/;
const SAID = /^(\S+)((?: \[[^\]]*\])*): (.*)$/s;

function shownPiece({ role, line, children }: Outline): string {
  const text = TEXT.exec(line)?.[1];
  if (text !== undefined) return text;
  const [, , marks = '', said = ''] = (role === 'generic' && SAID.exec(line)) || [];
  const url = children[0]?.line.slice('/url: '.length);
  return said === '' ? `${line}${url === undefined ? '' : ` <${url}>`}` : `${JSON.stringify(said)}${marks}`;
}

function wordsOf({ line }: Outline): string {
  const text = TEXT.exec(line)?.[1] ?? SAID.exec(line)?.[3];
  if (text !== undefined) return text;
  const name = NAMED.exec(line)?.[1];
  return name === undefined ? '' : (JSON.parse(name) as string); // it was written as JSON
}
