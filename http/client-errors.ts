import type { Socket } from 'node:net';
import { OmicronError } from '../contract/problem.ts';
import { rawProblemAnswer } from './upgrade.ts';

/** Why Node.js stopped reading a request; what is not listed is no HTTP. */
const UNREAD = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', 'The request was not sent within 30 seconds.'],
  ['HPE_HEADER_OVERFLOW', 'The URL and the headers must be at most 16 KiB together.'],
]);

/** Answers requests that are not HTTP, or too slow or too large to be read: those of a server's `clientError`. */
export function answerClientError(
  error: Error & { code?: string },
  socket: Pick<Socket, 'writable' | 'destroy' | 'end'>,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = new OmicronError(
    'invalid_request',
    UNREAD.get(error.code ?? '') ?? 'The request is not well-formed HTTP.',
  ).toProblem();
  socket.end(rawProblemAnswer(problem));
}
