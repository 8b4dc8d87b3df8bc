import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../http/clock.ts';

/** A sign-in ends after this time, however much it is used. */
const SIGN_IN_MS = 12 * 3_600_000;

/** The cookie's name. A port is no boundary for cookies, so a console of another stack on this host has another name. */
const cookieName = (url: URL): string => `omicron-console-${url.port || url.protocol.slice(0, -1)}`;

const digest = (value: string): string => createHash('sha256').update(value).digest('base64url');

/** Who is signed in: values of the cookie, kept as digests in this process alone. */
export class SignIns {
  readonly #expiresMs = new Map<string, number>();
  readonly #url: URL;
  readonly #clock: Clock;

  constructor(url: URL, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  /** Signs a person in; answers the `Set-Cookie` header. */
  open(): string {
    const nowMs = this.#clock.nowMs();
    for (const [known, expiresMs] of this.#expiresMs) if (expiresMs <= nowMs) this.#expiresMs.delete(known);
    const value = randomBytes(32).toString('base64url');
    this.#expiresMs.set(digest(value), nowMs + SIGN_IN_MS);
    return this.#setCookie(value, SIGN_IN_MS / 1_000);
  }

  /** Whether the `Cookie` header is that of a person who is signed in. */
  has(cookies: string | undefined): boolean {
    const value = this.#valueOf(cookies);
    const expiresMs = value === undefined ? undefined : this.#expiresMs.get(digest(value));
    return expiresMs !== undefined && expiresMs > this.#clock.nowMs();
  }

  /** Signs the person out; answers the `Set-Cookie` header that removes the cookie. */
  close(cookies: string | undefined): string {
    const value = this.#valueOf(cookies);
    if (value !== undefined) this.#expiresMs.delete(digest(value));
    return this.#setCookie('', 0);
  }

  #valueOf(cookies: string | undefined): string | undefined {
    const name = `${cookieName(this.#url)}=`;
    return cookies
      ?.split('; ')
      .find(each => each.startsWith(name))
      ?.slice(name.length);
  }

  // Safari keeps no Secure cookie of http://127.0.0.1, so that attribute is for https alone.
  #setCookie(value: string, seconds: number): string {
    const secure = this.#url.protocol === 'https:' ? '; Secure' : '';
    return `${cookieName(this.#url)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
  }
}
