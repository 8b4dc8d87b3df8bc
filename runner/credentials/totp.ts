import type { Clock } from '../../time/clock.ts';

/** A code that is valid for less than this would reach the site too late. */
const VALID_MS_MIN = 3_000;
/** Sites accept a code somewhat longer than it is shown; this long it is a secret. */
const SECRET_MS = 120_000;

export interface TotpCodes {
  /** The current code, valid for some seconds at least. Rejects when there is none. */
  now(site: string, signal: AbortSignal): Promise<string>;
}

/**
 * B3: the seed stays at the controller; `mint` answers the current code. `used` receives each code before it is given
 * out, with what says whether it is still a secret.
 */
export function totpCodes(
  mint: (site: string, signal: AbortSignal) => Promise<{ code: string; validMs: number }>,
  clock: Clock,
  used: (code: string, isSecret: () => boolean) => void,
): TotpCodes {
  return {
    async now(site, signal) {
      let minted = await mint(site, signal);
      if (minted.validMs < VALID_MS_MIN) {
        await clock.sleep(minted.validMs + 50, signal);
        minted = await mint(site, signal);
      }
      const untilMs = clock.nowMs() + SECRET_MS;
      used(minted.code, () => clock.nowMs() < untilMs);
      return minted.code;
    },
  };
}
