import type { ProfileState } from '../../contract/profile.ts';

/**
 * The domains whose login may be in this state: those with a cookie that scripts cannot read, and when the last of these
 * expires; null: with the browser.
 */
export function loginDomains(state: ProfileState): { domain: string; expires_at: string | null }[] {
  const lasts = new Map<string, number>();
  for (const { domain, httpOnly, expires } of state.cookies) {
    if (!httpOnly) continue;
    const name = domain.replace(/^\./, '');
    const until = expires < 0 ? Number.POSITIVE_INFINITY : expires;
    lasts.set(name, Math.max(until, lasts.get(name) ?? 0));
  }
  return [...lasts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, DOMAINS_MAX)
    .map(([domain, until]) => ({ domain, expires_at: isoOf(until) }));
}

/** Domains that a listing shows of one profile at most. */
const DOMAINS_MAX = 200;
/** The last second that an ISO date of four digits can say. */
const SECONDS_MAX = 253_402_300_799;

const isoOf = (seconds: number): string | null =>
  Number.isFinite(seconds) ? new Date(Math.min(seconds, SECONDS_MAX) * 1000).toISOString() : null;
