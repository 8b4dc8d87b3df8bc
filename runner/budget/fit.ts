import type { CallToolResult } from '@modelcontextprotocol/server';
import { estimateTokens } from './estimate.ts';

/** What a call may ask for as `tokensMax`. */
export const TOKENS_MIN = 200;
export const TOKENS_MAX = 100_000;
export const TOKENS_DEFAULT = 4_000;

/** How to get what an answer of this tool lacks. */
const WAYS: Readonly<Record<string, string>> = {
  browser_console_messages: 'a level of "error" gives fewer messages',
  browser_evaluate: 'return less of it',
  browser_find: 'a longer text has fewer matches',
  browser_get_content: 'browser_find searches it, where it is served',
  browser_network_request: 'a part gives less',
  browser_network_requests: 'a filter gives fewer requests',
};
const NOTE_TOKENS = 60;

/**
 * The result with texts of at most about `tokensMax` tokens together; pictures stay. Secrets were taken out before: of one that is
 * cut through, the rest is not found.
 */
export function fitted(result: CallToolResult, tool: string, tokensMax: number): CallToolResult {
  const texts = result.content.map(part => (part.type === 'text' ? estimateTokens(part.text) : 0));
  const total = texts.reduce((sum, tokens) => sum + tokens, 0);
  if (total <= tokensMax) return result;
  let left = tokensMax - NOTE_TOKENS;
  const content = result.content.map((part, index) => {
    const tokens = texts[index] ?? 0;
    if (part.type !== 'text') return part;
    const text = tokens <= left ? part.text : shortened(part.text, left, tool, total);
    left = Math.max(0, left - tokens);
    return { ...part, text };
  });
  return { ...result, content };
}

function shortened(text: string, tokensMax: number, tool: string, total: number): string {
  const way = Object.hasOwn(WAYS, tool) ? `${WAYS[tool]}; ` : '';
  const note = `cut: the answer takes about ${total} tokens; ${way}tokensMax: ${Math.min(total, TOKENS_MAX)} gives more`;
  const json = parsed(text);
  if (json !== undefined) return JSON.stringify({ ...shortJson(json, tokensMax), truncated: true, cut: note });
  return `${text.slice(
    0,
    largest(text.length, length => fits(text.slice(0, length), tokensMax)),
  )}\n(${note})`;
}

function parsed(text: string): Record<string, unknown> | undefined {
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
      typeof value === 'string' || Array.isArray(value) ? value.slice(0, length) : value,
    );
  return cutTo(largest(JSON.stringify(json).length, length => fits(JSON.stringify(cutTo(length)), tokensMax)));
}

const fits = (text: string, tokensMax: number): boolean =>
  // Four characters of a page are rarely less than a token: what is far too long need not be counted.
  text.length <= tokensMax * 16 && estimateTokens(text) <= tokensMax;

/** The largest number up to `max` that fits; 0 if none does. */
function largest(max: number, isFine: (length: number) => boolean): number {
  let [fine, tooMuch] = [0, max + 1];
  while (tooMuch - fine > 1) {
    const middle = Math.floor((fine + tooMuch) / 2);
    if (isFine(middle)) fine = middle;
    else tooMuch = middle;
  }
  return fine;
}
