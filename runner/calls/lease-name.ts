import * as z from 'zod';

const NAME_CHARACTERS_MAX = 256;
const uuid = z.uuid();

/**
 * Whether a call's `sessionId` is that of this lease: its session id; or a name that the client made up (`test-session-1`), which the
 * first call with one gives to the lease (P6). Ids of sessions are UUIDs, so no other session's id becomes a name.
 */
export function leaseName(sessionId: string): (given: unknown) => boolean {
  let name: string | undefined;
  return given => {
    if (given === undefined || given === sessionId) return true;
    if (typeof given !== 'string' || given === '' || given.length > NAME_CHARACTERS_MAX) return false;
    if (uuid.safeParse(given).success) return false;
    name ??= given;
    return given === name;
  };
}
