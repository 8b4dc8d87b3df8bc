import type { Logger } from 'pino';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  PROFILE_LIMITS,
  type ProfileContent,
  type ProfileForm,
  type ProfileState,
  profileContent,
} from '../../contract/profile.ts';
import type { ProfileStore } from '../ports/profile-store.ts';
import type { ProfileRow, Profiles } from '../store/profiles.ts';
import { loginDomains } from './domains.ts';
import { profileNotFound, saveRefusedError } from './save-refused.ts';
import { digestContent } from './sealed.ts';
import { profileUnreadable, type SaveTarget, type SealedObjects } from './sealed-objects.ts';

export interface KeeperParts {
  profiles: Profiles;
  objects: SealedObjects;
  /** The store of the objects. */
  store: Pick<ProfileStore, 'remove'>;
  /** A profile that no lease has started with for this long is deleted. */
  retentionDays: number;
  log: Logger;
}

/** An object that no version names after this long belongs to a save that came to no end. */
const STALE_SECONDS = 3_600;
const SWEEP_BATCH = 100;

/**
 * Reads and writes the content of profiles. A save is whole or nothing: the object is written and read back, and only
 * then does the head move, by compare-and-set. Errors are OmicronErrors that say what to do.
 */
export class ProfileKeeper {
  readonly #parts: KeeperParts;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** The state with which the runner of this lease starts; `json` null before the first save. */
  async ofLease(lease: LeaseKey): Promise<{ version: number; json: Buffer | null }> {
    const row = await this.#parts.profiles.ofLease(lease);
    if (row === null) throw new OmicronError('lease_ended', 'This runner holds no live lease with a profile.');
    return { version: row.version, json: await this.#read(row) };
  }

  /** Chunks of what the runner of this lease starts with, in this order. */
  async readChunks(lease: LeaseKey, objects: readonly string[]): Promise<Buffer[]> {
    const row = await this.#parts.profiles.chunksOfLease(lease, objects);
    if (row === null) throw profileUnreadable('it does not name these chunks');
    return this.#parts.objects.openAll(row, objects, 'chunk');
  }

  /** Stores chunks for a save over this version that is about to come. Resolves with their names when each is stored. */
  async writeChunks(lease: LeaseKey, base: number, chunks: readonly Buffer[]): Promise<string[]> {
    const { objects } = this.#parts;
    const row = await this.#writtenBy(lease);
    const target = { ...row, runner: lease.runner_id, base };
    const saves = await objects.writeAll(target, await objects.keyOf(row), chunks, 'chunk');
    return saves.map(({ object }) => object);
  }

  /** Saves over this version for the lease's runner, which may be ending. Resolves with the version that holds it. */
  async saveFor(lease: LeaseKey, base: number, content: ProfileContent): Promise<number> {
    return this.#write({ ...(await this.#writtenBy(lease)), runner: lease.runner_id, base }, content);
  }

  /** The runner of this lease saves no more. */
  async release(lease: LeaseKey): Promise<void> {
    await this.#parts.profiles.release(lease);
  }

  /** The state of the current version as JSON. */
  async export(userId: string, name: string): Promise<Buffer> {
    const row = await this.#parts.profiles.find(userId, name, null);
    const json = row && (await this.#read(row));
    if (json === null) throw profileNotFound();
    return stateOf(json);
  }

  /** Makes this state the current version; makes the profile where there is none. */
  async import(userId: string, name: string, state: ProfileState): Promise<number> {
    const row = await this.#parts.profiles.findOrMake(userId, name);
    if (row === null) throw tooManyProfiles();
    return this.#write({ ...row, runner: null, base: row.version }, { state, files: null });
  }

  /** Makes an older version the current one, as a new version; undefined: the version before the current one. */
  async restore(userId: string, name: string, given: number | undefined): Promise<number> {
    const { profiles } = this.#parts;
    const head = await profiles.find(userId, name, null);
    if (head === null) throw profileNotFound();
    const version = given ?? head.version - 1;
    if (version < 1)
      throw new OmicronError('profile_not_found', `The profile "${name}" has no version before its current one.`);
    const wanted = await profiles.find(userId, name, version);
    if (wanted === null) throw profileNotFound();
    const json = await this.#read(wanted);
    if (json === null)
      throw new OmicronError('profile_not_found', `Version ${version} is not kept; show the profile to see which are.`);
    return this.#write(
      { ...head, runner: null, base: head.version },
      profileContent.parse(JSON.parse(json.toString())),
    );
  }

  /** Deletes the profile with all its versions; false: there was none. */
  async remove(userId: string, name: string): Promise<boolean> {
    const removed = await this.#parts.profiles.remove(userId, name);
    if (typeof removed === 'object') throw saveRefusedError(removed);
    await this.sweep(); // what it cannot remove now, the next round does
    return removed === 'deleted';
  }

  /** Removes profiles that are not used any more, and what no version names. One object that cannot be removed stops nothing. */
  async sweep(): Promise<void> {
    const { profiles, store, retentionDays, log } = this.#parts;
    for (const { userId, name } of await profiles.unused(retentionDays, SWEEP_BATCH)) {
      const removed = await profiles.remove(userId, name); // refused while a lease has it: then it is used again
      log.info({ profile: name, removed, days: retentionDays }, 'unused profile');
    }
    for (const object of await profiles.loose(SWEEP_BATCH, STALE_SECONDS)) {
      try {
        await store.remove(object);
        await profiles.forget(object);
      } catch (err) {
        log.warn({ err, object }, 'profile object not removed; retrying');
      }
    }
    await profiles.dropUnusedKeys(SWEEP_BATCH);
  }

  async #writtenBy(lease: LeaseKey): Promise<ProfileRow> {
    const row = await this.#parts.profiles.writtenBy(lease);
    if (row !== null) return row;
    const detail = 'This runner may not save the profile: its lease is read-only or over.';
    throw new OmicronError('lease_superseded', detail);
  }

  /** The content of a version as JSON, as it was stored. */
  async #read(row: ProfileRow): Promise<Buffer | null> {
    const { version, object, form } = row;
    if (object === null || form === null) return null;
    const plain = await this.#parts.objects.open(row, object, { version, form });
    // of a light one without tabs its state is stored, as before there was anything else
    return form === 'light' && !plain.subarray(0, STATE.length).equals(STATE)
      ? Buffer.concat([STATE, plain, NO_FILES])
      : plain;
  }

  async #write(target: SaveTarget, content: ProfileContent): Promise<number> {
    const { name, base, runner } = target;
    const form: ProfileForm = content.files === null ? 'light' : 'complete';
    const plain = Buffer.from(JSON.stringify(form === 'light' && content.tabs === undefined ? content.state : content));
    if (plain.length > PROFILE_LIMITS.stateBytesMax) throw tooLarge();
    const key = await this.#parts.objects.keyOf(target);
    const digest = digestContent(key, plain);
    // also the repetition of a save whose answer was lost
    if (digest === target.digest) return target.version;
    const version = base + 1;
    const save = await this.#parts.objects.write(target, key, plain, { version, form });
    const chunks = [...new Set(content.files?.chunks.map(({ object }) => object))];
    const domains = loginDomains(content.state);
    const late = await this.#parts.profiles.commit(save, { form, digest, chunks, domains });
    if (late !== null) {
      await this.sweep();
      throw saveRefusedError(late);
    }
    this.#parts.log.info({ profile: name, version, form, bytes: save.bytes, runner_id: runner }, 'profile saved');
    return version;
  }
}

const STATE = Buffer.from('{"state":');
const NO_FILES = Buffer.from(',"files":null}');

/** The state within a content, as its JSON; that of a light one, which may be large, is not parsed for it. */
const stateOf = (json: Buffer): Buffer =>
  json.subarray(-NO_FILES.length).equals(NO_FILES)
    ? json.subarray(STATE.length, -NO_FILES.length)
    : Buffer.from(JSON.stringify(profileContent.parse(JSON.parse(json.toString())).state));

/** This part of what keeps profiles. Throws `profiles_not_configured` where the deployment has none. */
export function requireProfiles<Part>(part: Part | null): Part {
  if (part !== null) return part;
  throw new OmicronError(
    'profiles_not_configured',
    'This deployment keeps no profiles: set OMICRON_PROFILE_STORE and OMICRON_PROFILE_KEY, or leave the profile out.',
  );
}

export function requireHibernation<Part>(part: Part | null): Part {
  if (part !== null) return part;
  throw new OmicronError(
    'profiles_not_configured',
    'This deployment cannot hibernate sessions: set OMICRON_PROFILE_STORE and OMICRON_PROFILE_KEY, or leave hibernate out.',
  );
}

export const tooManyProfiles = () =>
  new OmicronError(
    'profile_quota_exceeded',
    `The user has ${PROFILE_LIMITS.profilesMax} profiles, as many as may be; delete one.`,
  );

export const tooLarge = () =>
  new OmicronError(
    'profile_too_large',
    `A profile may hold ${PROFILE_LIMITS.stateBytesMax / 1024 / 1024} MiB; clear what its sites store.`,
  );
