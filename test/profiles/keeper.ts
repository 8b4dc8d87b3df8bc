import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { PROFILE_LIMITS, type ProfileContent, type ProfileState } from '../../contract/profile.ts';
import type { Database } from '../../controller/ports/database.ts';
import type { ProfileStore } from '../../controller/ports/profile-store.ts';
import { folderProfileStore } from '../../controller/profiles/folder-store.ts';
import { keyFileWrap } from '../../controller/profiles/key-file.ts';
import { ProfileKeeper } from '../../controller/profiles/profile-keeper.ts';
import { SealedObjects } from '../../controller/profiles/sealed-objects.ts';
import { sqlProfiles } from '../../controller/store/profiles.ts';

/** A state with one login cookie. */
export const stateOf = (value: string): ProfileState => ({
  cookies: [
    {
      ...{ name: 'session', value, domain: '.shop.example', path: '/', expires: -1 },
      ...{ httpOnly: true, secure: true, sameSite: 'Lax' },
    },
  ],
  origins: [],
});

/** The same as the content of a light version. */
export const contentOf = (value: string): ProfileContent => ({ state: stateOf(value), files: null });

/** A keeper over a folder of its own. `around` may stand between it and the folder. */
export async function keeperOn(
  database: Database,
  {
    around = (store: ProfileStore): ProfileStore => store,
    quotaBytes = 1_000_000,
    retentionDays = 365,
    versionsMax = PROFILE_LIMITS.versionsMax as number,
    key = 'k'.repeat(32),
  } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-profiles-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const profiles = sqlProfiles(database, { versionsMax });
  const store = around(folderProfileStore(folder));
  const objects = new SealedObjects({ profiles, store, keys: keyFileWrap(Buffer.from(key)), quotaBytes });
  const parts = { profiles, objects, store, retentionDays, log: pino({ level: 'silent' }) };
  const keeper = new ProfileKeeper(parts);
  const cookieOf = async (userId: string, name: string) =>
    (JSON.parse((await keeper.export(userId, name)).toString()) as ProfileState).cookies[0]?.value; // what the keeper stored
  return { keeper, objects, profiles, store, folder, cookieOf };
}
