import { OmicronError } from '../contract/problem.ts';

/** Deeper nesting than any body of this API has makes recursive code run out of stack: schemas, writers, comparisons. */
const DEPTH_MAX = 256;
/** A call's arguments stand deeper in the event that reports it: one that a runner takes is one that the controller takes. */
export const CALL_DEPTH_MAX = 200;

/** A key with which an assignment changes the prototype: <https://github.com/fastify/secure-json-parse>. */
const PROTOTYPE_KEY =
  /"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"\s*:/;

/**
 * The JSON of a request: the one parser of controller, gateway, console and runner. Throws `invalid_request` for what is no
 * JSON, is nested too deep or names a prototype.
 */
export function parseJsonBody(text: string, depthMax = DEPTH_MAX): unknown {
  if (isDeeper(text, depthMax))
    throw new OmicronError('invalid_request', `The request body may be nested ${depthMax} levels deep at most.`);
  if (PROTOTYPE_KEY.test(text))
    throw new OmicronError('invalid_request', 'The request body may not have a key "__proto__".');
  try {
    return JSON.parse(text);
  } catch {
    throw new OmicronError('invalid_request', 'The request body is not well-formed JSON.');
  }
}

/** Whether arrays and objects nest deeper than this; of what is no JSON any answer will do. */
function isDeeper(text: string, depthMax: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++)
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > depthMax) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
    }
  return false;
}

/** End of the string that begins here: at a quote that no odd number of backslashes escapes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
