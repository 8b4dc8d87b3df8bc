import * as z from 'zod';
import {
  type Profile,
  type ProfileDetail,
  type profileDomain,
  profileSchema,
  profileVersion,
} from '../../contract/profile.ts';
import type { Database } from '../ports/database.ts';

const isoTime = z.string().transform(text => new Date(text).toISOString());
const domainRow = z.object({ domain: z.string(), expires_at: isoTime.nullable() }).transform(
  ({ domain, expires_at }): z.infer<typeof profileDomain> => ({
    domain,
    expires_at,
    logged_in: expires_at === null || Date.parse(expires_at) > Date.now(),
  }),
);
const profileRow = z.object({
  ...profileSchema.shape,
  created_at: isoTime,
  last_used_at: isoTime,
  saved_at: isoTime.nullable(),
  domains: z.array(domainRow),
});
const versionRow = z.object({ ...profileVersion.shape, saved_at: isoTime });

const PROFILE = `select jsonb_build_object(
    'user_id', p.user_id, 'name', p.name, 'version', p.version, 'created_at', p.created_at, 'last_used_at', p.last_used_at,
    'bytes', (select coalesce(sum(o.bytes), 0) from omicron.profile_objects o where o.profile_id = p.id and o.state = 'kept'),
    'saved_at', head.saved_at, 'domains', coalesce(head.domains, '[]'), 'writer_session_id',
    (select s.id from omicron.browser_sessions s
      where s.user_id = p.user_id and s.status in ('starting', 'ready') and s.options -> 'profile' ->> 'name' = p.name
        and s.options -> 'profile' ->> 'mode' = 'read-write' and s.expires_at > clock_timestamp() limit 1)) as row
  from omicron.profiles p
  left join omicron.profile_versions head on head.profile_id = p.id and head.version = p.version`;

/** The profiles of a user by name. */
export async function readProfiles(database: Database, userId: string): Promise<Profile[]> {
  const rows = await database.query<{ row: unknown }>(
    `${PROFILE} where p.user_id = $1 and p.session_id is null order by p.name`,
    [userId],
  );
  return rows.map(({ row }) => profileRow.parse(row));
}

/** One profile with the versions that are kept. Null: there is no such profile. */
export async function readProfile(database: Database, userId: string, name: string): Promise<ProfileDetail | null> {
  const [found] = await database.query<{ row: unknown }>(`${PROFILE} where p.user_id = $1 and p.name = $2`, [
    userId,
    name,
  ]);
  if (found === undefined) return null;
  const versions = await database.query<{ row: unknown }>(
    `select to_jsonb(v) as row from omicron.profile_versions v join omicron.profiles p on p.id = v.profile_id
      where p.user_id = $1 and p.name = $2 order by v.version desc`,
    [userId, name],
  );
  return { ...profileRow.parse(found.row), versions: versions.map(({ row }) => versionRow.parse(row)) };
}
