import type { IncomingMessage } from 'node:http';
import { type ToolFailure, toolFailure } from '../../contract/tool-failure.ts';

/** The answer to the client of a call. */
export interface GatewayAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string | AsyncIterable<string>;
}

/** The longest result, or event, of a runner: the controller's memory is for all users. */
const CHARACTERS_MAX = 32 * 1024 * 1024;

export const INTERRUPTED = toolFailure(
  'call_interrupted',
  'The connection to the browser broke while the call ran. It may have had its effect, and was not repeated.',
  'Look at the page before you call the tool again.',
);

/** The JSON-RPC answers of one call that are the gateway's own. */
export interface OwnAnswers {
  json(failure: ToolFailure): GatewayAnswer;
  event(failure: ToolFailure): string;
}

export function ownAnswers(id: string | number, modern: boolean): OwnAnswers {
  const message = (failure: ToolFailure) =>
    JSON.stringify({ jsonrpc: '2.0', id, result: { ...(modern ? { resultType: 'complete' } : {}), ...failure } });
  return {
    json: failure => ({ status: 200, type: 'application/json', body: message(failure) }),
    event: failure => `event: message\ndata: ${message(failure)}\n\n`,
  };
}

/** The runner's answer as it comes; where it breaks off, the client reads that in its place. */
export async function passAnswerOn(answer: IncomingMessage, own: OwnAnswers): Promise<GatewayAnswer> {
  const { statusCode: status = 502, headers } = answer;
  const type = headers['content-type'] ?? 'application/json';
  if (type.startsWith('text/event-stream')) return { status, type, body: wholeEvents(answer, own) };
  try {
    return { status, type, body: await readText(answer) };
  } catch {
    return own.json(INTERRUPTED);
  }
}

export async function readText(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    if (text.length > CHARACTERS_MAX) throw new Error('the runner answers without end');
  }
  return text;
}

/** Half an event would spoil what follows it. */
async function* wholeEvents(answer: IncomingMessage, own: OwnAnswers): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of answer.setEncoding('utf8')) {
      const end = (rest.slice(-1) + chunk).lastIndexOf('\n\n');
      const before = rest.length - Math.min(1, rest.length);
      rest += chunk;
      if (end >= 0) {
        yield rest.slice(0, before + end + 2);
        rest = rest.slice(before + end + 2);
      }
      if (rest.length > CHARACTERS_MAX) throw new Error('the runner sends an event without end');
    }
  } catch {
    yield own.event(INTERRUPTED);
  }
}
