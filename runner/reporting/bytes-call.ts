import { tryParseJson } from '../../contract/parse-json.ts';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import type { HttpExchange } from '../../http/call.ts';
import { ofOtherRelease } from './other-release.ts';

/** One try for some megabytes. */
const TRY_MS = 20_000;
const TRIES = 3;

/**
 * Sends bytes or JSON to the controller, and resolves with the bytes of the answer. Tried again when the controller cannot be
 * reached: chunks that are stored twice cost a copy, which the sweep removes. Throws OmicronErrors.
 */
export async function bytesCall(
  exchange: HttpExchange,
  url: string,
  { token, body, signal }: { token: string; body: Buffer | string; signal: AbortSignal },
): Promise<Buffer> {
  const isJson = typeof body === 'string';
  const request = {
    method: 'POST' as const,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': isJson ? 'application/json' : 'application/octet-stream',
    },
    body,
  };
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      const bound = AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]);
      const { status, bytes } = await exchange(url, request, bound);
      if (status === 200) return bytes;
      const problem = problemSchema.safeParse(tryParseJson(bytes.toString()));
      if (problem.success) throw ofOtherRelease(OmicronError.fromProblem(problem.data), new URL(url).pathname);
      throw new OmicronError('controller_unreachable', `The controller answered ${status} to a chunk of a profile.`);
    } catch (error) {
      const known = error instanceof OmicronError;
      if (signal.aborted || (known && error.code !== 'controller_unreachable')) throw error;
      if (left === 0) throw known ? error : controllerUnreachable(error);
    }
  }
}

const controllerUnreachable = (cause: unknown) =>
  new OmicronError('controller_unreachable', 'The controller could not be reached with chunks of a profile.', {
    cause,
  });
