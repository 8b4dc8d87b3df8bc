import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';

export interface HttpAnswer {
  readonly status: number;
  /** Seconds of the header `retry-after`, if it was sent. */
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export type HttpCall = (
  url: string,
  request: { method: 'GET' | 'POST' | 'PUT' | 'DELETE'; headers?: Record<string, string>; body?: string },
  signal: AbortSignal,
) => Promise<HttpAnswer>;

/** As an {@link HttpCall}, with bytes both ways. */
export type HttpExchange = (
  url: string,
  request: { method: 'GET' | 'POST' | 'PUT' | 'DELETE'; headers?: Record<string, string>; body?: string | Buffer },
  signal: AbortSignal,
) => Promise<Omit<HttpAnswer, 'text'> & { readonly bytes: Buffer }>;

/** {@link httpExchanges} with text. */
export function httpCalls(limits: { bytesMax?: number } = {}): HttpCall {
  const exchange = httpExchanges(limits);
  return async (url, request, signal) => {
    const { bytes, ...answer } = await exchange(url, request, signal);
    return { ...answer, text: bytes.toString() };
  };
}

/**
 * Calls over connections that are kept open, for the few small requests of a lease's start and the many bytes of a profile: less work
 * than `fetch`, which counts in a process that has run little of it, and copies what it reads twice. Knows no proxy (NODE_USE_ENV_PROXY): between controller and runner there is
 * none. Follows no redirect. Rejects when the call was not answered whole. For calls that may be repeated: one that meets a
 * connection closed meanwhile is sent again. An answer of more than `bytesMax` is an error.
 */
export function httpExchanges({ bytesMax = Number.POSITIVE_INFINITY } = {}): HttpExchange {
  const agent = new Agent({ keepAlive: true });
  const secureAgent = new SecureAgent({ keepAlive: true });
  const exchange: HttpExchange = (url, request, signal) => {
    const { method, headers, body } = request;
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<HttpExchange>>>();
    const secure = url.startsWith('https:');
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { method, headers: { ...headers, ...length }, agent: secure ? secureAgent : agent, signal };
    const sent = (secure ? requestHttps : requestHttp)(url, options, answer => {
      const parts: Buffer[] = [];
      let length = 0;
      answer
        .on('data', (part: Buffer) => {
          parts.push(part);
          length += part.length;
          if (length > bytesMax) answer.destroy(new Error(`the answer has more than ${bytesMax} bytes`));
        })
        .on('error', reject)
        .on('end', () => {
          const { statusCode: status = 0, headers } = answer;
          resolve({ status, retryAfter: headers['retry-after'], bytes: Buffer.concat(parts, length) });
        });
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // The other side had closed the kept connection, and word of it was still on its way.
      if (sent.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted) resolve(exchange(url, request, signal));
      else reject(error);
    });
    sent.end(body);
    return promise;
  };
  return exchange;
}
