import { OmicronError } from '../../contract/problem.ts';
import type { LeaseProfile, ProfileContent } from '../../contract/profile.ts';
import type { SavedTabs } from '../../contract/saved-tabs.ts';
import type { Clock } from '../../time/clock.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import type { ControllerClient } from '../reporting/controller-client.ts';
import { type HoldsEach, readTabs } from '../tabs/saved-tabs.ts';
import { type CompleteOptions, openComplete } from './complete-profile.ts';
import { expiredLogins } from './expired-logins.ts';
import { openLight } from './light-profile.ts';
import type { Saved } from './profile-browser.ts';

/** The profile of a lease, restored; saves run one after the other. */
export interface OpenProfile {
  /** Names of the secrets that what was restored may hold: a site of an earlier lease may have stored them. */
  readonly secretsHeld: readonly string[];
  /** Domains whose login had expired when the lease began. */
  readonly expired: readonly string[];
  /** To be opened; undefined: the lease asked for none, or none were saved. */
  readonly tabs: SavedTabs | undefined;
  /** Saves what the browser holds now; bounded. Resolves with the version that holds it. */
  save(signal: AbortSignal): Promise<number>;
  /**
   * Saves for the last time, if the profile is to be saved, and gives the right to it back; bounded. The browser may be closed for it
   * once `unused` has resolved. Resolves with why it was not saved: then the version before stays. Never rejects.
   */
  close(unused: Promise<unknown>): Promise<OmicronError | undefined>;
}

export interface ProfileOptions extends CompleteOptions {
  readonly profile: LeaseProfile;
  readonly browser: RunnerBrowser;
  readonly controller: Pick<
    ControllerClient,
    'profile' | 'saveProfile' | 'releaseProfile' | 'readProfileChunks' | 'writeProfileChunks'
  >;
  /** Whether each text holds a password of the lease; undefined: the lease has none. */
  readonly holdsEach: HoldsEach | undefined;
  /** Names of the secrets that it brings. */
  readonly secretsHeld: (content: ProfileContent) => Promise<string[]>;
  readonly clock: Clock;
}

/** A save that was asked for: the first one of a complete profile writes all of its files. */
const SAVE_MS = { light: 15_000, complete: 60_000 } as const;
/** With the rest of the runner's end this fits into the 10 s after which its process exits. */
const LAST_SAVE_MS = { light: 4_000, complete: 7_000 } as const;
const RELEASE_MS = 1_000;

/** Restores the profile of a lease. Throws `profile_unreadable` when this version never can be, `profile_unavailable` when another try may. */
export async function openProfile(options: ProfileOptions, signal: AbortSignal): Promise<OpenProfile> {
  const { profile, browser, controller, leaseToken, holdsEach, clock, info } = options;
  const startMs = clock.nowMs();
  const opened = await controller.profile(leaseToken, signal);
  // a complete profile stays complete: a light save would lose its files
  const form = opened.content?.files != null ? 'complete' : (profile.form ?? 'light');
  const held =
    form === 'light'
      ? await openLight(browser.context, opened.content, info)
      : await openComplete(options, opened.content, signal);
  let saved: Saved = { version: opened.version, chunks: opened.content?.files?.chunks ?? [] };
  info('profile restored', {
    profile: profile.name,
    version: saved.version,
    form,
    left_out: held.leftOut,
    ms: Math.round(clock.nowMs() - startMs),
  });
  /** Those of the version that the lease began with, where the lease does not ask for tabs: they are its user's still. */
  const tabsNow = () => (profile.tabs ? readTabs(held.context, holdsEach ?? HOLD_NOTHING) : opened.content?.tabs);
  /** The tabs are read first: the browser may be gone after the rest. */
  const withTabs = async (read: () => Promise<ProfileContent>): Promise<ProfileContent> => {
    const tabs = await tabsNow();
    return { ...(await read()), ...(tabs && { tabs }) };
  };
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;

  const inTurn = (bound: AbortSignal, read: (over: Saved) => Promise<ProfileContent>): Promise<number> => {
    const next = turn.then(async () => {
      const content = await abandonAt(
        withTabs(() => read(saved)),
        bound,
      );
      const version = await controller.saveProfile(leaseToken, saved.version, content, bound);
      saved = { version, chunks: content.files?.chunks ?? [] };
      info('profile saved', { profile: profile.name, version });
      return version;
    });
    turn = next.catch(() => undefined);
    return next;
  };

  return {
    secretsHeld: opened.content === null ? [] : await options.secretsHeld(opened.content),
    tabs: profile.tabs ? opened.content?.tabs : undefined,
    expired: opened.content === null ? [] : expiredLogins(opened.content.state, Date.now()),
    async save(signal) {
      if (profile.mode === 'read-only')
        throw new OmicronError('lease_superseded', 'The lease has the profile read-only; it is not saved.');
      if (closed) throw new OmicronError('lease_ended', 'The lease is ending, and saves its profile as it does.');
      const bound = AbortSignal.any([signal, AbortSignal.timeout(SAVE_MS[form])]);
      return inTurn(bound, over => held.read(over, bound)).catch(error => {
        throw saveError(error);
      });
    },
    async close(unused) {
      closed = true;
      if (profile.mode === 'read-only') return undefined;
      const bound = AbortSignal.timeout(LAST_SAVE_MS[form]);
      const last = inTurn(bound, over => held.readLast(over, unused, bound));
      const lost = await last.then(() => undefined, saveError);
      await controller.releaseProfile(leaseToken, AbortSignal.timeout(RELEASE_MS)).catch(() => undefined);
      return lost;
    },
  };
}

const HOLD_NOTHING: HoldsEach = async texts => texts.map(() => false);

/** A busy page may keep Playwright waiting; the profile is not worth the runner's end. */
function abandonAt<T>(work: Promise<T>, bound: AbortSignal): Promise<T> {
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
