import type { CallToolResult } from '@modelcontextprotocol/server';
import { beginning } from '../../contract/well-formed.ts';
import { type Conceal, cut } from './cut.ts';
import { estimateTokens, startOf } from './estimate.ts';

/** Bounds of the argument `tokensMax`. */
export const TOKENS_MIN = 200;
export const TOKENS_MAX = 100_000;
export const TOKENS_DEFAULT = 4_000;

const NOTE_TOKENS = 60;
/** Four characters of a page are rarely less than a token: what is far too long need not be counted. */
const TOKEN_CHARACTERS_MAX = 16;

export interface FitBounds {
  /** How an agent gets a shorter answer; null: the answer does not say. */
  readonly shorter: string | null;
  readonly tokensMax: number;
}

export interface FitOptions extends FitBounds {
  readonly conceal: Conceal;
  /** `fitTexts`, where a long text does not hold the runner's thread. */
  readonly fit: (texts: readonly SafeText[], bounds: FitBounds) => Promise<string[]>;
}

/** A text without secrets, and how many times as long it was before it was cut. */
export interface SafeText {
  readonly text: string;
  readonly share: number;
}

/** The result with texts without secrets, of at most about `tokensMax` tokens together; pictures stay. */
export async function fitResult(
  result: CallToolResult,
  { shorter, tokensMax, conceal, fit }: FitOptions,
): Promise<CallToolResult> {
  const given = result.content.flatMap(part => (part.type === 'text' ? [part.text] : []));
  const safe = await Promise.all(given.map(text => safeText(text, tokensMax, conceal)));
  const texts = await fit(safe, { shorter, tokensMax });
  let next = 0;
  return {
    ...result,
    content: result.content.map(part => (part.type === 'text' ? { type: 'text', text: texts[next++] ?? '' } : part)),
  };
}

/** The texts, of at most about `tokensMax` tokens together. */
export function fitTexts(texts: readonly SafeText[], { shorter, tokensMax }: FitBounds): string[] {
  const counted = texts.map(({ text, share }) => ({ text, tokens: Math.ceil(estimateTokens(text) * share) }));
  const total = counted.reduce((sum, { tokens }) => sum + tokens, 0);
  let left = total <= tokensMax ? total : tokensMax - NOTE_TOKENS;
  return counted.map(({ text, tokens }) => {
    const fitting = tokens <= left ? text : shortenText(text, left, shorter, total);
    left = Math.max(0, left - tokens);
    return fitting;
  });
}

/** The text without secrets and without what could never fit. */
async function safeText(given: string, tokensMax: number, conceal: Conceal): Promise<SafeText> {
  // JSON that is cut through is JSON no more: each tool bounds the texts in its own.
  const charactersMax = given.startsWith('{') ? given.length : tokensMax * TOKEN_CHARACTERS_MAX;
  const { content, truncated } = await cut(given, charactersMax, conceal);
  const text = truncated ? content : await conceal(content);
  return { text, share: truncated ? given.length / Math.max(1, text.length) : 1 };
}

function shortenText(text: string, tokensMax: number, shorter: string | null, total: number): string {
  const way = shorter === null ? '' : `${shorter}; `;
  const note = `cut: the answer takes about ${total} tokens; ${way}tokensMax: ${Math.min(total, TOKENS_MAX)} gives more`;
  const json = parseDocument(text);
  if (json !== undefined) return JSON.stringify({ ...shortJson(json, tokensMax), truncated: true, cut: note });
  return `${startOf(text, tokensMax)}\n(${note})`;
}

function parseDocument(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Long texts and lists are cut, all to the same length. */
function shortJson(json: Record<string, unknown>, tokensMax: number): Record<string, unknown> {
  const cutTo = (length: number): Record<string, unknown> =>
    JSON.parse(JSON.stringify(json), (_key, value) =>
      typeof value === 'string' ? beginning(value, length) : Array.isArray(value) ? value.slice(0, length) : value,
    );
  return cutTo(findLargest(JSON.stringify(json).length, length => fits(JSON.stringify(cutTo(length)), tokensMax)));
}

const fits = (text: string, tokensMax: number): boolean =>
  text.length <= tokensMax * TOKEN_CHARACTERS_MAX && estimateTokens(text) <= tokensMax;

/** The largest number up to `max` that fits; 0 if none does. */
export function findLargest(max: number, isFine: (length: number) => boolean): number {
  let [fine, tooMuch] = [0, max + 1];
  while (tooMuch - fine > 1) {
    const middle = Math.floor((fine + tooMuch) / 2);
    if (isFine(middle)) fine = middle;
    else tooMuch = middle;
  }
  return fine;
}
