import { OmicronError } from '../../contract/problem.ts';
import type { SaveRefusal } from '../store/profiles.ts';

export const profileNotFound = () =>
  new OmicronError(
    'profile_not_found',
    'The user has no saved profile of this name; list profiles to find the right one.',
  );

/** The error for the writer. */
export function saveRefusedError({
  code,
  holder,
  retryAfterMs = 0,
  version,
  active = 0,
  limit = 0,
}: SaveRefusal): OmicronError {
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  switch (code) {
    case 'profile_in_use':
      return new OmicronError(
        code,
        holder === undefined
          ? 'The lease that had the profile is saving it; try again.'
          : `Session ${holder} has the profile for writing; end its lease, ask for read-only, or try again in ${retryAfterSeconds} s.`,
        { retryAfterSeconds, ...(holder === undefined ? {} : { session_id: holder }) },
      );
    case 'profile_changed':
      return new OmicronError(code, `The profile is at version ${version} by now; nothing was saved over it.`);
    case 'profile_quota_exceeded':
      return new OmicronError(
        code,
        `The user's profiles take ${active} of ${limit} bytes, and this version does not fit; delete a profile.`,
      );
    case 'profile_unavailable':
      return new OmicronError(code, 'The save took too long and was given up; save again.');
    case 'profile_not_found':
      return profileNotFound();
    case 'lease_superseded':
      return new OmicronError(code, 'The lease is over, or another one has the profile now; nothing was saved.');
    case 'lease_in_use':
      return new OmicronError(code, 'The lease was used meanwhile, and goes on.');
  }
}
