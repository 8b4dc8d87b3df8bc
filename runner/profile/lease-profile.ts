import type { BrowserContext } from 'playwright-core';
import { OmicronError } from '../../contract/problem.ts';
import type { LeaseProfile, ProfileState } from '../../contract/profile.ts';
import type { Clock } from '../../http/clock.ts';
import type { ControllerClient } from '../reporting/controller-client.ts';
import { readBrowserState, writeBrowserState } from './browser-state.ts';

/** The profile of a lease, restored; saves run one after the other. */
export interface OpenProfile {
  /** Whether what was restored holds a password: a site of an earlier lease may have stored it. */
  readonly isTainted: boolean;
  /** Saves what the browser holds now. Resolves with the version that holds it. */
  save(signal: AbortSignal): Promise<number>;
  /**
   * Saves for the last time, if the profile is to be saved, and gives the right to it back; bounded. Resolves with why it was
   * not saved: then the version before stays. Never rejects.
   */
  close(): Promise<OmicronError | undefined>;
}

export interface ProfileOptions {
  readonly profile: LeaseProfile;
  readonly context: BrowserContext;
  readonly controller: Pick<ControllerClient, 'profile' | 'saveProfile' | 'releaseProfile'>;
  readonly leaseToken: string;
  /** Whether a text holds a password of the lease. */
  readonly holds: (text: string) => boolean;
  readonly clock: Clock;
  readonly info: (message: string, details: Record<string, unknown>) => void;
}

/** The browser still answers, or the profile stays as it was: with the rest of the runner's end this fits into 10 s. */
const LAST_SAVE_MS = 4_000;
const RELEASE_MS = 1_000;

/** Restores the profile of a lease into its fresh context. Throws `profile_unavailable` when that cannot be done. */
export async function openProfile(options: ProfileOptions, signal: AbortSignal): Promise<OpenProfile> {
  const { profile, context, controller, leaseToken, holds, clock, info } = options;
  const startMs = clock.nowMs();
  const opened = await controller.profile(leaseToken, signal);
  const isTainted = opened.state !== null && mayHold(opened.state, holds);
  const leftOut = opened.state === null ? 0 : await restore(context, opened.state);
  let { version } = opened;
  info('profile restored', {
    profile: profile.name,
    version,
    left_out: leftOut,
    ms: Math.round(clock.nowMs() - startMs),
  });
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;

  const saveNow = async (bound: AbortSignal): Promise<number> => {
    const { state, leftOut } = await within(readBrowserState(context), bound);
    version = await controller.saveProfile(leaseToken, version, state, bound);
    info('profile saved', { profile: profile.name, version, left_out: leftOut });
    return version;
  };
  const inTurn = (bound: AbortSignal): Promise<number> => {
    const next = turn.then(() => saveNow(bound));
    turn = next.catch(() => undefined);
    return next;
  };

  return {
    isTainted,
    async save(bound) {
      if (profile.mode === 'read-only')
        throw new OmicronError('lease_superseded', 'The lease has the profile read-only; it is not saved.');
      if (closed) throw new OmicronError('lease_ended', 'The lease is ending, and saves its profile as it does.');
      return inTurn(bound).catch(error => {
        throw saveError(error);
      });
    },
    async close() {
      closed = true;
      if (profile.mode === 'read-only') return undefined;
      const lost = await inTurn(AbortSignal.timeout(LAST_SAVE_MS)).then(() => undefined, saveError);
      await controller.releaseProfile(leaseToken, AbortSignal.timeout(RELEASE_MS)).catch(() => undefined);
      return lost;
    },
  };
}

/** A longer one is not searched: it may hold anything. */
const CHARACTERS_MAX = 4_000_000;

function mayHold(state: ProfileState, holds: (text: string) => boolean): boolean {
  const text = JSON.stringify(state);
  return text.length > CHARACTERS_MAX || holds(text);
}

async function restore(context: BrowserContext, state: ProfileState): Promise<number> {
  try {
    return await writeBrowserState(context, state);
  } catch {
    // the cause may quote what was restored
    const detail =
      'The browser did not take this version of the profile. Restore an older version, or lease without a profile.';
    throw new OmicronError('profile_unavailable', detail);
  }
}

/** A busy page may keep Playwright waiting; the profile is not worth the runner's end. */
function within<T>(work: Promise<T>, bound: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => reject(new OmicronError('profile_unavailable', 'The browser did not show its storage in time.'));
  if (bound.aborted) late();
  bound.addEventListener('abort', late, { once: true });
  return Promise.race([work, promise]).finally(() => bound.removeEventListener('abort', late));
}

/** Playwright's own errors may quote what they read. */
const saveError = (error: unknown): OmicronError =>
  error instanceof OmicronError
    ? error
    : new OmicronError('profile_unavailable', 'The storage of the browser could not be read; it may hold too much.');
