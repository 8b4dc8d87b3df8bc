import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** Outcome of one request to a runner. */
export type RunnerCall =
  /** Its answer begins; the rest may still break off. */
  | { readonly outcome: 'answered'; readonly answer: IncomingMessage }
  /** No connection was made, so that nothing ran. */
  | { readonly outcome: 'unreachable' }
  /** The connection broke: what was asked may have run. */
  | { readonly outcome: 'lost' };

/** A runner is on this machine or in this cluster. */
const CONNECT_MS = 5_000;

/**
 * Sends a request to a runner's `/mcp`, over a connection of its own: one that is kept may have been closed by the other side, and then
 * it is not known whether the runner has read the request. Follows no redirect, so that the lease's token stays with its runner.
 * Rejects with the signal's reason.
 */
export function callRunner(
  url: string,
  { headers, body }: { headers: Readonly<Record<string, string>>; body: string },
  signal: AbortSignal,
): Promise<RunnerCall> {
  const { promise, resolve, reject } = Promise.withResolvers<RunnerCall>();
  const secure = url.startsWith('https:');
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    agent: false as const,
    signal,
  };
  let connected = false;
  const sent = (secure ? requestHttps : requestHttp)(url, options, answer => resolve({ outcome: 'answered', answer }));
  const late = setTimeout(() => sent.destroy(new Error('not connected in time')), CONNECT_MS);
  sent
    .on('socket', socket =>
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
        clearTimeout(late);
      }),
    )
    .on('error', error => (signal.aborted ? reject(error) : resolve({ outcome: connected ? 'lost' : 'unreachable' })))
    .on('close', () => clearTimeout(late))
    .end(body);
  return promise;
}
