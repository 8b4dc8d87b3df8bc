import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../time/clock.ts';

/** A link that was not opened in this time opens nothing. */
const LINK_MS = 10 * 60_000;

const digestToken = (token: string): string => createHash('sha256').update(token).digest('base64url');

/** Tokens that sign a person in, each of them once. Only their digests are kept. */
export class OneTimeLinks {
  readonly #expiresMs = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new token of 256 random bits. */
  make(): string {
    const nowMs = this.#clock.nowMs();
    for (const [known, expiresMs] of this.#expiresMs) if (expiresMs <= nowMs) this.#expiresMs.delete(known);
    const token = randomBytes(32).toString('base64url');
    this.#expiresMs.set(digestToken(token), nowMs + LINK_MS);
    return token;
  }

  /** Whether the token signs in now. Its second use never does. */
  redeem(token: string): boolean {
    const key = digestToken(token);
    const expiresMs = this.#expiresMs.get(key);
    this.#expiresMs.delete(key);
    return expiresMs !== undefined && expiresMs > this.#clock.nowMs();
  }
}
