import { OmicronError } from '../../contract/problem.ts';

/** Requests of one user that one replica serves at a time. A browser runs one call at a time; more only wait. */
const RUNNING_MAX = 32;

/** Keeps one user's requests from taking all of a replica. */
export class Running {
  readonly #byUser = new Map<string, number>();

  /** Throws `too_many_requests`; else call what it returns when the request has ended. */
  admit(userId: string): () => void {
    const running = this.#byUser.get(userId) ?? 0;
    if (running >= RUNNING_MAX)
      throw new OmicronError(
        'too_many_requests',
        `This user has ${running} requests running; wait until one has ended.`,
        {
          retryAfterSeconds: 1,
          limit: RUNNING_MAX,
          active: running,
        },
      );
    this.#byUser.set(userId, running + 1);
    return () => {
      const left = (this.#byUser.get(userId) ?? 1) - 1;
      if (left > 0) this.#byUser.set(userId, left);
      else this.#byUser.delete(userId);
    };
  }
}
