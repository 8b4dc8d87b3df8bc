import { OmicronError, problemSchema } from '../../contract/problem.ts';
import { ofOtherRelease } from './other-release.ts';

/** One try for some megabytes. */
const TRY_MS = 20_000;
const TRIES = 3;

/**
 * Sends bytes or JSON to the controller, and resolves with the bytes of the answer. Tried again when the controller cannot be
 * reached: chunks that are stored twice cost a copy, which the sweep removes. Throws OmicronErrors.
 */
export async function bytesCall(
  url: string,
  { token, body, signal }: { token: string; body: Buffer<ArrayBuffer> | string; signal: AbortSignal },
): Promise<Buffer> {
  const isJson = typeof body === 'string';
  const request = {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': isJson ? 'application/json' : 'application/octet-stream',
    },
    body,
  };
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      const answer = await fetch(url, { ...request, signal: AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]) });
      if (answer.ok) return Buffer.from(await answer.arrayBuffer());
      const problem = problemSchema.safeParse(await answer.json().catch(() => undefined));
      if (problem.success) throw ofOtherRelease(OmicronError.fromProblem(problem.data), new URL(url).pathname);
      throw new OmicronError(
        'controller_unreachable',
        `The controller answered ${answer.status} to a chunk of a profile.`,
      );
    } catch (error) {
      const known = error instanceof OmicronError;
      if (signal.aborted || (known && error.code !== 'controller_unreachable')) throw error;
      if (left === 0) throw known ? error : unreachable(error);
    }
  }
}

const unreachable = (cause: unknown) =>
  new OmicronError('controller_unreachable', 'The controller could not be reached with chunks of a profile.', {
    cause,
  });
