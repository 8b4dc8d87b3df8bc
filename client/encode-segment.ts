import { OmicronError } from '../contract/problem.ts';

/** One segment of a path. Throws `invalid_request` for what no URL can hold as one: `users/../policy` is `policy`, `%2e%2e` too. */
export function encodeSegment(text: string): string {
  if (typeof text !== 'string')
    throw new OmicronError('invalid_request', `An id or a name must be a text such as "42", not a ${typeof text}.`);
  if (!['', '.', '..'].includes(text) && text.isWellFormed()) return encodeURIComponent(text);
  throw new OmicronError(
    'invalid_request',
    `${JSON.stringify(text)} is no id and no name: give well-formed text that is neither empty nor "." nor "..".`,
  );
}
