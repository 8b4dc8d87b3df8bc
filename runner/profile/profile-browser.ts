import type { BrowserContext } from 'playwright-core';
import type { ProfileContent, ProfileFiles } from '../../contract/profile.ts';

/** A browser that holds a profile, in one of its forms. Throws OmicronErrors, and Playwright's. */
export interface ProfileBrowser {
  /** Type of the browser that has it. */
  readonly context: BrowserContext;
  /** Parts of the profile that the browser did not take. */
  readonly leftOut: number;
  /** The browser's present state, to be saved over this version. */
  read(over: Saved, signal: AbortSignal): Promise<ProfileContent>;
  /** The same, after which the browser may be gone. */
  readLast(over: Saved, unused: Promise<unknown>, signal: AbortSignal): Promise<ProfileContent>;
}

/** The version that is the current one as far as this runner knows, and the chunks that the next one may name again. */
export interface Saved {
  readonly version: number;
  readonly chunks: ProfileFiles['chunks'];
}
