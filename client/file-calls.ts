import { OmicronError } from '../contract/problem.ts';
import { parseProblem } from '../http/problem-client.ts';
import { type Connection, callTokens, controllerPeer } from './controller-api.ts';

/** Forms in which the content of a file may be given. */
export type FileContent = Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | string;

export interface FileCall {
  readonly method: 'GET' | 'PUT';
  readonly path: string;
  readonly userId?: string | undefined;
  readonly content?: FileContent;
  /** The header of this name. */
  readonly range?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A file of 100 MiB passes at 7 Mbit/s. */
const FILE_MS = 120_000;

/** Calls of one controller whose bodies are bytes. Throws as `controllerApi` does. */
export function fileCalls(
  connection: Connection,
  fetch: typeof globalThis.fetch,
): (call: FileCall) => Promise<Response> {
  const tokenFor = callTokens(connection);
  const peer = controllerPeer(connection);
  const base = peer.url.replace(/\/+$/, '');
  return async ({ method, path, userId, content, range, signal }) => {
    const timeout = AbortSignal.timeout(FILE_MS);
    const request = {
      method,
      headers: {
        authorization: `Bearer ${await tokenFor(userId)}`,
        ...(content === undefined ? {} : { 'content-type': 'application/octet-stream' }),
        ...(range === undefined ? {} : { range }),
      },
      redirect: 'error' as const,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      // A stream is sent while the answer is awaited: https://fetch.spec.whatwg.org/#dom-requestinit-duplex
      ...(content === undefined ? {} : { body: content, duplex: 'half' as const }),
    };
    const response = await fetch(`${base}${path}`, request).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new OmicronError(
        'controller_unreachable',
        `The controller did not take or send the file at ${base}; check that it runs there.`,
        { cause },
      );
    });
    if (response.ok) return response;
    const retryAfter = response.headers.get('retry-after') ?? undefined;
    throw parseProblem(peer, base, { status: response.status, retryAfter, text: await response.text() });
  };
}
