import type { CallToolResult } from '@modelcontextprotocol/server';
import { failureResult } from './result.ts';

const NAMES_SUGGESTED_MAX = 3;

/** The result of a call of a tool that is not in `available`; suggests the names that share a word with it. */
export function unknownTool(name: string, available: readonly string[]): CallToolResult {
  const words = new Set(wordsOf(name));
  const near = available
    .map(each => ({ each, shared: wordsOf(each).filter(word => words.has(word)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, NAMES_SUGGESTED_MAX)
    .map(({ each }) => each);
  const hints = near.length === 0 ? [] : [`Did you mean ${near.join(', ')}?`];
  return failureResult(
    'unknown_tool',
    `The tool "${name}" is not available.`,
    ...hints,
    'Call tools/list for the available tools.',
  );
}

/** All names begin with `browser_`, which says nothing. */
const wordsOf = (name: string): string[] => name.split('_').filter(word => word !== 'browser' && word !== '');
