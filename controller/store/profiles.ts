import * as z from 'zod';
import type { LeaseKey } from '../../contract/lease-key.ts';
import {
  PROFILE_FORMS,
  PROFILE_LIMITS,
  type Profile,
  type ProfileDetail,
  type ProfileForm,
} from '../../contract/profile.ts';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';
import { readProfile, readProfiles } from './profile-list.ts';

/** One version of a profile, as the rows name it. */
export interface ProfileRow {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly version: number;
  /** Null: this version has no content, or is not kept. */
  readonly object: string | null;
  readonly form: ProfileForm | null;
  readonly digest: string | null;
  /** The user's data key; null: the user has none yet. */
  readonly wrapped: string | null;
}

const REFUSALS = [
  'profile_in_use',
  'profile_not_found',
  'profile_changed',
  'profile_unavailable',
  'profile_quota_exceeded',
  'lease_superseded',
  'lease_in_use',
] as const;

/** Why nothing was written. */
export interface SaveRefusal {
  readonly code: (typeof REFUSALS)[number];
  /** The session whose lease holds the profile, and when that ends unless it is used. */
  readonly holder?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** With `profile_changed`: the current version. */
  readonly version?: number | undefined;
  /** Bytes of `profile_quota_exceeded`. */
  readonly active?: number | undefined;
  readonly limit?: number | undefined;
}

/** Which version is written over, and by whom. `runner` null: by the platform, which may write while no lease does. */
export interface Over {
  readonly profileId: string;
  readonly base: number;
  readonly runner: string | null;
}

/** An object as it is in the store. */
export interface Written {
  readonly object: string;
  readonly bytes: number;
}

/** A save over one version, by the object that is the next one. */
export interface Save extends Over, Written {}

export interface SavedContent {
  readonly form: ProfileForm;
  readonly digest: string;
  /** Objects that the version names beside its own: written for it, or kept by the version before. */
  readonly chunks: readonly string[];
  readonly domains: readonly { domain: string; expires_at: string | null }[];
}

/** The rows of profiles; never their content. Throws `store_unavailable` when the database cannot be reached. */
export interface Profiles {
  /** The state with which a runner starts. Null: this runner does not hold that lease, or the lease has no profile. */
  ofLease(lease: LeaseKey): Promise<ProfileRow | null>;
  /** As `ofLease`. Null also when its current version does not name one of these chunks. */
  chunksOfLease(lease: LeaseKey, objects: readonly string[]): Promise<ProfileRow | null>;
  /** The profile that this runner may save. Null: none. */
  writtenBy(lease: LeaseKey): Promise<ProfileRow | null>;
  /** `version` null: the current one. Null: there is no such profile. */
  find(userId: string, name: string, version: number | null): Promise<ProfileRow | null>;
  /** As `find`; makes the profile where there is none. Null: the user has as many as may be. */
  findOrMake(userId: string, name: string): Promise<ProfileRow | null>;
  /** The user's wrapped key: this one, or the one that was there before. */
  keepKey(userId: string, wrapped: string): Promise<string>;
  /** Before the bytes of objects are written, a version's or chunks. Null: go on with all of them. */
  begin(over: Over, objects: readonly Written[], quotaBytes: number): Promise<SaveRefusal | null>;
  /** After they were written and read back: moves the head. Null: saved. */
  commit(save: Save, content: SavedContent): Promise<SaveRefusal | null>;
  /** This runner saves no more. */
  release(lease: LeaseKey): Promise<void>;
  list(userId: string): Promise<Profile[]>;
  show(userId: string, name: string): Promise<ProfileDetail | null>;
  remove(userId: string, name: string): Promise<'deleted' | 'not_found' | SaveRefusal>;
  /** Profiles that no lease has started with for this long, longest first. */
  unused(days: number, most: number): Promise<{ userId: string; name: string }[]>;
  /** Objects to remove from the store; `forget` those that are gone. */
  loose(most: number, staleSeconds: number): Promise<string[]>;
  forget(object: string): Promise<void>;
  /** Keys of users who have neither a profile nor a hibernated session are deleted. */
  dropUnusedKeys(most: number): Promise<void>;
}

/** As SQL answers a row. */
export const content = z
  .object({
    id: z.uuid(),
    user_id: z.string(),
    name: z.string(),
    version: z.int(),
    object: z.string().nullable(),
    form: z.enum(PROFILE_FORMS).nullable(),
    digest: z.string().nullable(),
    wrapped: z.string().nullable(),
  })
  .transform(({ user_id, ...row }): ProfileRow => ({ ...row, userId: user_id }));

export const refusal = z
  .object({
    outcome: z.literal('refused'),
    code: z.enum(REFUSALS),
    holder: z.uuid().optional(),
    retry_after_ms: z.number().optional(),
    version: z.int().optional(),
    active: z.number().optional(),
    limit: z.number().optional(),
  })
  .transform(({ outcome: _, retry_after_ms: retryAfterMs, ...row }): SaveRefusal => ({ ...row, retryAfterMs }));

/** `versionsMax`: versions that a profile keeps. */
export function sqlProfiles(database: Database, { versionsMax }: { versionsMax: number } = PROFILE_LIMITS): Profiles {
  const leaseArguments = ({ session_id, epoch, runner_id }: LeaseKey) => ({
    p_session: session_id,
    p_epoch: epoch,
    p_runner: runner_id,
  });
  const overArguments = ({ profileId, base, runner }: Over) => ({
    p_profile: profileId,
    p_base: base,
    p_runner: runner,
  });
  const find: Profiles['find'] = async (userId, name, version) => {
    const [row] = await database.query<{ content: unknown }>(
      `select omicron.profile_content(p, coalesce($3, p.version)) as content from omicron.profiles p
        where p.user_id = $1 and p.name = $2`,
      [userId, name, version],
    );
    return row === undefined ? null : content.parse(row.content);
  };
  return {
    ofLease: async lease =>
      content.nullable().parse(await callFunction(database, 'lease_profile', leaseArguments(lease))),
    chunksOfLease: async (lease, objects) =>
      content
        .nullable()
        .parse(await callFunction(database, 'lease_chunks', { ...leaseArguments(lease), p_objects: objects })),
    writtenBy: async lease =>
      content.nullable().parse(await callFunction(database, 'written_profile', leaseArguments(lease))),
    find,
    async findOrMake(userId, name) {
      await callFunction(database, 'make_profile', { p_user: userId, p_name: name });
      return find(userId, name, null);
    },
    async keepKey(userId, wrapped) {
      const [row] = await database.query<{ wrapped: string }>(
        `insert into omicron.profile_keys as k (user_id, wrapped) values ($1, $2)
         on conflict (user_id) do update set wrapped = k.wrapped returning k.wrapped`,
        [userId, wrapped],
      );
      return z.string().parse(row?.wrapped);
    },
    begin: async (over, objects, quotaBytes) =>
      refusal.nullable().parse(
        await callFunction(database, 'begin_objects', {
          ...overArguments(over),
          p_objects: objects.map(({ object }) => object),
          p_bytes: objects.map(({ bytes }) => bytes),
          p_quota: quotaBytes,
        }),
      ),
    commit: async (save, { form, digest, chunks, domains }) =>
      refusal.nullable().parse(
        await callFunction(database, 'commit_save', {
          ...overArguments(save),
          p_object: save.object,
          p_bytes: save.bytes,
          p_form: form,
          p_digest: digest,
          p_chunks: chunks,
          p_domains: JSON.stringify(domains),
          p_versions: versionsMax,
        }),
      ),
    async release(lease) {
      await callFunction(database, 'release_profile', leaseArguments(lease));
    },
    list: userId => readProfiles(database, userId),
    show: (userId, name) => readProfile(database, userId, name),
    async remove(userId, name) {
      const answer = await callFunction(database, 'delete_profile', { p_user: userId, p_name: name });
      const done = z.object({ outcome: z.enum(['deleted', 'not_found']) }).safeParse(answer);
      return done.success ? done.data.outcome : refusal.parse(answer);
    },
    async unused(days, most) {
      const rows = await database.query<{ user_id: string; name: string }>(
        `select user_id, name from omicron.profiles
          where session_id is null and last_used_at < (select clock_timestamp()) - make_interval(days => $1) order by last_used_at limit $2`,
        [days, most],
      );
      return rows.map(({ user_id: userId, name }) => ({ userId, name }));
    },
    loose: async (most, staleSeconds) =>
      z
        .array(z.string())
        .parse(await callRows(database, 'loose_objects', { p_most: most, p_stale_seconds: staleSeconds })),
    async forget(object) {
      await database.query(`delete from omicron.profile_objects where name = $1 and state = 'removing'`, [object]);
    },
    async dropUnusedKeys(most) {
      const unused = await database.query<{ user_id: string }>(
        `select k.user_id from omicron.profile_keys k
          where not exists (select from omicron.profiles p where p.user_id = k.user_id) limit $1`,
        [most],
      );
      for (const { user_id } of unused) await callFunction(database, 'drop_unused_key', { p_user: user_id });
    },
  };
}
