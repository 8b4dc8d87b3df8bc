import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { withoutBrackets } from '../../contract/policy/hosts.ts';
import type { CheckedConnections } from '../../egress/checked-connections.ts';

/** Outcome of one request; `error` null: the endpoint took it. */
export interface Posted {
  readonly status: number | null;
  readonly error: string | null;
}

/** An endpoint of a webhook: its connections are kept, each to an address that was judged before. */
export interface Endpoint {
  /** Never rejects. */
  post(headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<Posted>;
  close(): void;
}

/** Standard Webhooks recommends 15 to 30 s. */
const ATTEMPT_MS = 15_000;
const HANDSHAKE_MS = 10_000;
/** Bytes of an answer that are read to keep its connection: nothing of them is used. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** Sends over connections of its own: <https://nodejs.org/api/http.html#new-agentoptions> with sockets that were checked. */
export function openEndpoint(address: string, connections: CheckedConnections, attemptMs = ATTEMPT_MS): Endpoint {
  const url = new URL(address);
  const secure = url.protocol === 'https:';
  const agent = new (class extends Agent {
    override createConnection(_options: unknown, created: (error: Error | null, socket?: Duplex) => void): undefined {
      connect(url, connections, attemptMs).then(
        socket => created(null, socket),
        error => created(error),
      );
    }
  })({ keepAlive: true, timeout: 30_000 });

  const post: Endpoint['post'] = (headers, body, signal) => {
    const { promise, resolve } = Promise.withResolvers<Posted>();
    const over = AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]);
    const sent = request(
      {
        agent,
        method: 'POST',
        hostname: withoutBrackets(url.hostname),
        port: url.port || (secure ? 443 : 80),
        path: `${url.pathname}${url.search}`,
        headers: {
          ...headers,
          host: url.host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
        signal: over,
      },
      answer => {
        const { statusCode: status = 0 } = answer;
        let bytes = 0;
        answer.on('data', (part: Buffer) => {
          bytes += part.length;
          if (bytes > ANSWER_BYTES_MAX) answer.destroy();
        });
        // The status is the answer, however its content ends.
        answer.on('error', () => {}).on('close', () => resolve(judgeStatus(status)));
      },
    );
    sent.on('error', error => {
      // A kept connection that the endpoint was closing: nothing of it says that the endpoint fails.
      if (sent.reusedSocket && isReset(error)) resolve(post(headers, body, signal));
      else resolve({ status: null, error: describeFailure(error, url, signal, attemptMs) });
    });
    sent.end(body);
    return promise;
  };
  return { post, close: () => agent.destroy() };
}

const isReset = ({ code = '' }: NodeJS.ErrnoException): boolean => ['ECONNRESET', 'EPIPE'].includes(code);

async function connect(url: URL, connections: CheckedConnections, attemptMs: number): Promise<Socket> {
  const opened = await connections.open(url, AbortSignal.timeout(attemptMs));
  if ('why' in opened) throw new Error(`${url.host} ${opened.why}`);
  if (url.protocol !== 'https:') return opened;
  const host = withoutBrackets(url.hostname);
  const socket = connectTls({
    socket: opened,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : { host }), // an address is no server name (RFC 6066)
  });
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const late = setTimeout(() => socket.destroy(new Error(`${url.host} did not answer to TLS in time`)), HANDSHAKE_MS);
  socket.once('error', reject).once('secureConnect', () => resolve(socket.off('error', reject)));
  return promise.finally(() => clearTimeout(late));
}

const judgeStatus = (status: number): Posted => ({
  status,
  error: status >= 200 && status < 300 ? null : `answered ${status}`,
});

/** No more than an operator needs: neither path nor query, which may hold a token. */
function describeFailure(error: Error, url: URL, signal: AbortSignal, attemptMs: number): string {
  if (signal.aborted) return 'the attempt was stopped';
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no answer within ${attemptMs / 1000} s`;
  const { code } = error as NodeJS.ErrnoException;
  return error.message.startsWith(url.host) || code === undefined ? error.message : `the connection failed: ${code}`;
}
