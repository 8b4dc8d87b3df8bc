import { Agent, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';

export interface HttpAnswer {
  readonly status: number;
  /** Of the header `retry-after`, if it was sent. */
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export type HttpCall = (
  url: string,
  request: { method: 'GET' | 'POST' | 'PUT' | 'DELETE'; headers?: Record<string, string>; body?: string },
  signal: AbortSignal,
) => Promise<HttpAnswer>;

/**
 * Calls over connections that are kept open, for the few small requests of a lease's start: less work than `fetch`, which
 * counts in a process that has run little of it. Knows no proxy (NODE_USE_ENV_PROXY): between controller and runner there is
 * none. Follows no redirect. Rejects when the call was not answered whole. For calls that may be repeated: one that meets a
 * connection closed meanwhile is sent again. An answer of more than `bytesMax` is an error.
 */
export function httpCalls({ bytesMax = Number.POSITIVE_INFINITY } = {}): HttpCall {
  const agent = new Agent({ keepAlive: true });
  const secureAgent = new SecureAgent({ keepAlive: true });
  const call: HttpCall = (url, request, signal) => {
    const { method, headers, body } = request;
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const secure = url.startsWith('https:');
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { method, headers: { ...headers, ...length }, agent: secure ? secureAgent : agent, signal };
    const sent = (secure ? requestHttps : requestHttp)(url, options, answer => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          text += chunk;
          if (text.length > bytesMax) answer.destroy(new Error(`the answer has more than ${bytesMax} bytes`));
        })
        .on('error', reject)
        .on('end', () => resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'], text }));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // The other side had closed the kept connection, and word of it was still on its way.
      if (sent.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted) resolve(call(url, request, signal));
      else reject(error);
    });
    sent.end(body);
    return promise;
  };
  return call;
}
