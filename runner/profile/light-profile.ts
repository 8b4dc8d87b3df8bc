import type { BrowserContext } from 'playwright-core';
import { OmicronError } from '../../contract/problem.ts';
import type { ProfileContent } from '../../contract/profile.ts';
import { readBrowserState, writeBrowserState } from './browser-state.ts';
import type { ProfileBrowser } from './profile-browser.ts';

/** Restores a light profile into a warm browser; null: nothing was saved yet. */
export async function openLight(
  context: BrowserContext,
  content: ProfileContent | null,
  info: (message: string, details: Record<string, unknown>) => void,
): Promise<ProfileBrowser> {
  const read = async (): Promise<ProfileContent> => {
    const { state, leftOut } = await readBrowserState(context);
    if (leftOut > 0) info('records of IndexedDB left out', { left_out: leftOut });
    return { state, files: null };
  };
  return { context, leftOut: content === null ? 0 : await restore(context, content.state), read, readLast: read };
}

/** Resolves with the number of what the browser did not take. */
export async function restore(context: BrowserContext, state: ProfileContent['state']): Promise<number> {
  try {
    return await writeBrowserState(context, state);
  } catch {
    // the cause may quote what was restored
    const detail =
      'The browser did not take this version of the profile. Restore an older version, or lease without a profile.';
    throw new OmicronError('profile_unavailable', detail);
  }
}
