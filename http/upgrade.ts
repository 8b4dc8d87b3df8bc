import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { PROBLEM_TYPE, type Problem } from '../contract/problem.ts';
import { NOSNIFF } from './never-sniff.ts';

/**
 * For servers of WebSockets. A request that offers another protocol is answered as if it did not (RFC 9110, section 7.8): Java's
 * HttpClient and `curl --http2` offer HTTP/2 with each request.
 */
export const onlyWebSockets = {
  shouldUpgradeCallback: ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket',
};

/** The head of an answer to a request for an upgrade, which `node:http` leaves to its server's listener. */
export function answerHead(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', ''].join('\r\n');
}

/** A whole answer with a problem document, after which the connection ends, for sockets that have no response. */
export function rawProblemAnswer(problem: Problem): string {
  const body = JSON.stringify(problem);
  const head = answerHead(problem.status, {
    'content-type': PROBLEM_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    ...NOSNIFF,
    connection: 'close',
  });
  return head + body;
}

/** Answers with a problem document in place of an upgrade, and ends the connection. */
export const refuseUpgrade = (socket: Duplex, problem: Problem): void => {
  socket.end(rawProblemAnswer(problem), () => socket.destroy());
};
