import { request } from 'node:http';
import { Readable } from 'node:stream';

/** `fetch` that sends a `Host` of its own, as an ingress passes on the one that its client asked for; built-in `fetch` sends no other. */
export const asIngress =
  (host: string) =>
  (url: string | URL, { method = 'GET', headers, body, signal }: RequestInit = {}): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const sent = request(
      url,
      { method, headers: { ...Object.fromEntries(new Headers(headers)), host }, ...(signal ? { signal } : {}) },
      answer => {
        const { statusCode = 0 } = answer;
        const passed = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
        resolve(new Response(Readable.toWeb(answer) as ReadableStream, { status: statusCode, headers: passed })); // one type, declared twice
      },
    );
    sent.on('error', reject).end(body ?? undefined);
    return promise;
  };
