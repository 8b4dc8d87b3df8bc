import { setTimeout as delay } from 'node:timers/promises';
import type { Redact } from '../reporting/redact.ts';

/** Less than this left, and the site would see the code too late. */
const VALID_MS_MIN = 3_000;
/** Sites take a code somewhat longer than it is shown; so long it is taken out of results. */
const SECRET_MS = 120_000;

export interface TotpCodes {
  /** The code of the moment, good for some seconds at least. Rejects when there is none. */
  now(site: string, signal: AbortSignal): Promise<string>;
  /** Takes the codes of the last two minutes out of a text. */
  readonly redact: Redact;
}

/** B3: the seed stays at the controller; `mint` answers the code of the moment. */
export function totpCodes(
  mint: (site: string, signal: AbortSignal) => Promise<{ code: string; validMs: number }>,
): TotpCodes {
  const recent = new Map<string, number>();
  return {
    async now(site, signal) {
      let minted = await mint(site, signal);
      if (minted.validMs < VALID_MS_MIN) {
        await delay(minted.validMs + 50, undefined, { signal });
        minted = await mint(site, signal);
      }
      recent.set(minted.code, performance.now() + SECRET_MS);
      return minted.code;
    },
    redact(text) {
      let clean = text;
      for (const [code, untilMs] of recent) {
        if (performance.now() > untilMs) recent.delete(code);
        else clean = clean.replaceAll(code, '<secret>TOTP</secret>');
      }
      return clean;
    },
  };
}
