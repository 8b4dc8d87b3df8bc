import type { Clock } from '../../http/clock.ts';

/** A code that is valid for less than this would reach the site too late. */
const VALID_MS_MIN = 3_000;
/** Sites accept a code somewhat longer than it is shown; this long it is redacted from results. */
const SECRET_MS = 120_000;

export interface TotpCodes {
  /** The current code, valid for some seconds at least. Rejects when there is none. */
  now(site: string, signal: AbortSignal): Promise<string>;
  /** Takes the codes of the last two minutes out of a text. */
  redact(text: string): string;
}

/** B3: the seed stays at the controller; `mint` answers the current code. */
export function totpCodes(
  mint: (site: string, signal: AbortSignal) => Promise<{ code: string; validMs: number }>,
  clock: Clock,
): TotpCodes {
  const recent = new Map<string, number>();
  return {
    async now(site, signal) {
      let minted = await mint(site, signal);
      if (minted.validMs < VALID_MS_MIN) {
        await clock.sleep(minted.validMs + 50, signal);
        minted = await mint(site, signal);
      }
      recent.set(minted.code, clock.nowMs() + SECRET_MS);
      return minted.code;
    },
    redact(text) {
      let clean = text;
      for (const [code, untilMs] of recent) {
        if (clock.nowMs() > untilMs) recent.delete(code);
        else clean = clean.replaceAll(code, '<secret>TOTP</secret>');
      }
      return clean;
    },
  };
}
