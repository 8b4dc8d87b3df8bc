import type { CallToolResult } from '@modelcontextprotocol/server';
import { refusalResult } from '../../contract/tool-failure.ts';
import { TextTimeout } from '../text-thread/text-thread.ts';

/** Why an argument is taken for no pattern. */
export const NO_REGEX = 'The pattern is not a regular expression of JavaScript, or has more than 1,000 characters.';

/** The result of a search; a pattern that takes too long is refused. */
export async function patternResult(search: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await search();
  } catch (error) {
    if (!(error instanceof TextTimeout)) throw error;
    return refusalResult({
      code: 'pattern_too_slow',
      why: `The pattern had not searched the text after ${error.seconds} s, and was given up.`,
      instead: 'Give a pattern without repeats inside repeats, or a plain text.',
    });
  }
}
