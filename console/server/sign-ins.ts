import { createHash, randomBytes } from 'node:crypto';
import type { ConsoleRole } from '../../contract/console.ts';
import type { Clock } from '../../time/clock.ts';
import { type HostCookie, hostCookie } from './host-cookie.ts';

/** A person's older sign-ins end: each takes memory until then. */
const SIGN_INS_MAX = 50;
/** A sign-in ends after this time, however much it is used. */
const SIGN_IN_MS = 12 * 3_600_000;

const digestCookie = (value: string): string => createHash('sha256').update(value).digest('base64url');

/** The person who signs in, by the provider of their identity: a link or an identity provider. */
export interface SignedInPerson {
  /** Id that no other person has, whatever their names: derived from issuer and subject, or from the link that was opened. */
  readonly id: string;
  /** Not unique, and people may choose it at some providers. Shown to other viewers and written to the timeline. */
  readonly name: string;
  readonly role: ConsoleRole;
  /** The user whose sessions they have; null: everyone's. */
  readonly userId: string | null;
  /** How an identity provider names them and their session there, to end it. */
  readonly issuer?: string;
  readonly subject?: string;
  readonly providerSession?: string | undefined;
}

/** A person who is signed in. */
export interface SignIn extends SignedInPerson {
  /** False once they have signed out or were signed out, or the sign-in has ended by its age. */
  isOpen(): boolean;
}

/** The person who is signed in: values of the cookie, kept as digests in this process alone. */
export class SignIns {
  readonly #known = new Map<string, { readonly person: SignedInPerson; readonly expiresMs: number }>();
  readonly #cookie: HostCookie;
  readonly #clock: Clock;

  constructor(url: URL, clock: Clock) {
    this.#cookie = hostCookie(url, '', 'Strict');
    this.#clock = clock;
  }

  /** Number of those that have not ended. */
  get count(): number {
    const nowMs = this.#clock.nowMs();
    return [...this.#known.values()].filter(({ expiresMs }) => expiresMs > nowMs).length;
  }

  /** Signs a person in; answers the `Set-Cookie` header. */
  open(person: SignedInPerson): string {
    const nowMs = this.#clock.nowMs();
    for (const [key, { expiresMs }] of this.#known) if (expiresMs <= nowMs) this.#known.delete(key);
    const theirs = [...this.#known].filter(([, known]) => known.person.id === person.id);
    for (const [key] of theirs.slice(0, Math.max(0, theirs.length + 1 - SIGN_INS_MAX))) this.#known.delete(key);
    const value = randomBytes(32).toString('base64url');
    this.#known.set(digestCookie(value), { person, expiresMs: nowMs + SIGN_IN_MS });
    return this.#cookie.set(value, SIGN_IN_MS / 1_000);
  }

  /** The sign-in of the `Cookie` header; undefined: of no person who is signed in. */
  of(cookies: string | undefined): SignIn | undefined {
    const value = this.#cookie.read(cookies);
    if (value === undefined) return undefined;
    const key = digestCookie(value);
    const { person } = this.#known.get(key) ?? {};
    const isOpen = () => (this.#known.get(key)?.expiresMs ?? 0) > this.#clock.nowMs();
    return person !== undefined && isOpen() ? { ...person, isOpen } : undefined;
  }

  /** Signs the person out; answers the `Set-Cookie` header that removes the cookie. */
  close(cookies: string | undefined): string {
    const value = this.#cookie.read(cookies);
    if (value !== undefined) this.#known.delete(digestCookie(value));
    return this.#cookie.set('', 0);
  }

  /** Signs out all whom this is true of. */
  closeAll(isMeant: (person: SignedInPerson) => boolean): void {
    for (const [key, { person }] of this.#known) if (isMeant(person)) this.#known.delete(key);
  }
}
