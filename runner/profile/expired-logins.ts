import type { ProfileState } from '../../contract/profile.ts';

/**
 * The domains of a saved state whose login has expired: they have cookies that scripts cannot read, and none of these is valid any
 * more. `nowMs`: since 1970, as cookies count.
 */
export function expiredLogins({ cookies }: Pick<ProfileState, 'cookies'>, nowMs: number): string[] {
  const holds = new Map<string, boolean>();
  for (const { domain, httpOnly, expires } of cookies) {
    if (!httpOnly) continue;
    const name = domain.replace(/^\./, '');
    holds.set(name, holds.get(name) === true || expires < 0 || expires * 1_000 > nowMs);
  }
  return [...holds].flatMap(([domain, valid]) => (valid ? [] : [domain])).sort();
}
