import { randomBytes } from 'node:crypto';
import { OmicronError } from '../../contract/problem.ts';
import type { KeyWrap } from '../ports/key-wrap.ts';
import type { ProfileStore } from '../ports/profile-store.ts';
import type { ProfileRow, Profiles, Save, Written } from '../store/profiles.ts';
import { saveRefusedError } from './save-refused.ts';
import { objectName, type SealedPlace, seal, unseal } from './sealed.ts';

export interface SealedObjectsParts {
  profiles: Profiles;
  store: ProfileStore;
  keys: KeyWrap;
  /** Bytes that all versions of all profiles of one user, and the snapshots of their sessions, may take. */
  quotaBytes: number;
}

/** The version that a save is written over, and the writer; `runner` null: by the platform. */
export type SaveTarget = ProfileRow & { base: number; runner: string | null };

/** Objects of profiles in the store, each under its user's key. Errors are OmicronErrors that say what to do. */
export class SealedObjects {
  readonly #parts: SealedObjectsParts;

  constructor(parts: SealedObjectsParts) {
    this.#parts = parts;
  }

  /** The user's data key; makes it where there is none. */
  async keyOf({ userId, wrapped }: ProfileRow): Promise<Buffer> {
    const { profiles, keys } = this.#parts;
    const kept = wrapped ?? (await profiles.keepKey(userId, await keys.wrap(randomBytes(32), userId)));
    return keys.unwrap(kept, userId);
  }

  /** Writes one object, and reads it back. */
  async write(target: SaveTarget, key: Buffer, plain: Buffer, of: SealedPlace['of']): Promise<Save> {
    const [object] = await this.writeAll(target, key, [plain], of);
    if (object === undefined) throw new Error('one object was written');
    const { id: profileId, base, runner } = target;
    return { profileId, base, runner, ...object };
  }

  /** Writes objects side by side; resolves, in the same order, when each was read back as it was sealed. The quota admits all or none. */
  async writeAll(
    target: SaveTarget,
    key: Buffer,
    plains: readonly Buffer[],
    of: SealedPlace['of'],
  ): Promise<Written[]> {
    const { profiles, store, quotaBytes } = this.#parts;
    const { id: profileId, userId, base, runner } = target;
    const place: SealedPlace = { userId, profileId, of };
    const all = await Promise.all(
      plains.map(async plain => {
        const sealed = await seal(key, plain, place);
        return { sealed, object: objectName(sealed), bytes: sealed.length };
      }),
    );
    const objects = all.map(({ object, bytes }) => ({ object, bytes }));
    const refusal = await profiles.begin({ profileId, base, runner }, objects, quotaBytes);
    if (refusal !== null) throw saveRefusedError(refusal);
    // a failure is reported when nothing more is being written
    const ends = await Promise.allSettled(
      all.map(async ({ sealed, object }) => {
        await store.put(object, sealed);
        const stored = await store.get(object);
        if (stored === null || !stored.equals(sealed))
          throw new OmicronError('profile_unavailable', 'The store did not keep what was written to it; save again.');
      }),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return objects;
  }

  /** An object of this profile, opened. */
  async open(row: ProfileRow, object: string, of: SealedPlace['of']): Promise<Buffer> {
    const [plain = Buffer.alloc(0)] = await this.openAll(row, [object], of);
    return plain;
  }

  /** Objects of this profile, opened; the user's key is unwrapped once for all of them. */
  async openAll(row: ProfileRow, objects: readonly string[], of: SealedPlace['of']): Promise<Buffer[]> {
    const { id: profileId, userId, wrapped } = row;
    const { store, keys } = this.#parts;
    if (wrapped === null) throw profileUnreadable("its user's key is gone");
    const key = await keys.unwrap(wrapped, userId);
    const open = async (object: string): Promise<Buffer> => {
      const sealed = await store.get(object);
      if (sealed === null) throw profileUnreadable('its object is gone from the store');
      try {
        return await unseal(key, sealed, { userId, profileId, of });
      } catch (cause) {
        throw profileUnreadable('its object was changed', cause);
      }
    };
    return Promise.all(objects.map(open));
  }
}

export const profileUnreadable = (why: string, cause?: unknown) =>
  new OmicronError('profile_unreadable', `This version of the profile cannot be read: ${why}. Restore an older one.`, {
    cause,
  });
