import { randomUUID } from 'node:crypto';
import type { ProfileCheck, ProfileCheckRequest } from '../../contract/profile.ts';
import { getOrCreateRequest, LIMITS } from '../../contract/session.ts';
import type { RunnerLink } from '../ports/runner-link.ts';
import type { Directory } from '../store/directory.ts';
import { checkLoginToken, type Keys } from './assignment-tokens.ts';
import type { GetOrCreate } from './get-or-create.ts';
import { liveRunner } from './live-runner.ts';

export interface CheckLoginParts {
  getOrCreate: GetOrCreate;
  directory: Directory;
  link: RunnerLink;
  keys: Keys;
  /** Called when a lease ended: its runner is to be drained. */
  kickDrain: (sessionId?: string) => void;
}

/** The page is loaded, and shows what was asked for, in this time. */
const CHECK_MS = 30_000;

/**
 * Looks at a page with the saved version of a profile, in a lease of its own: it saves nothing, and disturbs no agent. Throws what
 * get-or-create does.
 */
export async function checkProfileLogin(
  { getOrCreate, directory, link, keys, kickDrain }: CheckLoginParts,
  userId: string,
  profile: string,
  page: ProfileCheckRequest,
): Promise<ProfileCheck> {
  const lease = await getOrCreate.run(
    getOrCreateRequest.parse({
      user_id: userId,
      conversation_id: `check of ${profile} ${randomUUID()}`,
      tags: { purpose: 'profile-check' },
      profile,
      profile_mode: 'read-only',
      record_video: false,
      keep_pages: 'none',
      credentials: false,
      ttl_seconds: LIMITS.ttlSecondsMin,
      wait_seconds: LIMITS.waitSecondsMax,
    }),
  );
  try {
    const { runnerId, bootId, endpoint } = await liveRunner(directory, lease.session_id, userId);
    return await link.checkLogin(endpoint, checkLoginToken(keys, runnerId, bootId, page), CHECK_MS);
  } finally {
    await directory.archive(lease.session_id, userId); // the list is of people's conversations
    kickDrain(lease.session_id);
  }
}
