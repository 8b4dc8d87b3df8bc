import type { BrowserContext } from 'playwright-core';
import * as z from 'zod';
import type { ProfileState } from '../../contract/profile.ts';

/** State that was read of a browser, and the number of IndexedDB records that cannot be kept. */
export interface BrowserState {
  readonly state: ProfileState;
  readonly leftOut: number;
}

/** Cookies with session cookies, localStorage and IndexedDB of every origin that the context has visited. */
export async function readBrowserState(context: BrowserContext): Promise<BrowserState> {
  const { cookies, origins } = await context.storageState({ indexedDB: true });
  let leftOut = 0;
  const whole = origins
    .filter(({ origin }) => /^https?:/.test(origin))
    .map(({ origin, localStorage, ...rest }) => {
      const indexedDB = databases.parse('indexedDB' in rest ? rest.indexedDB : []);
      for (const store of indexedDB.flatMap(({ stores }) => stores)) {
        const kept = store.records.filter(record => isWhole(store, record));
        leftOut += store.records.length - kept.length;
        store.records = kept;
      }
      return { origin, localStorage, indexedDB };
    });
  return { state: { cookies, origins: whole }, leftOut };
}

type StorageState = Exclude<Parameters<BrowserContext['setStorageState']>[0], string>;

/**
 * Replaces what the context stores. Sites are not reached: Playwright answers for them. Playwright takes all or nothing, and a
 * site may have stored what it cannot write again (a `CryptoKey` becomes `{}`, which has no key for its store): such a site loses its
 * IndexedDB, or the one cookie, and the user keeps the rest. Resolves with the number of what was left out.
 */
export async function writeBrowserState(context: BrowserContext, state: ProfileState): Promise<number> {
  const all = state as StorageState; // the parts of IndexedDB are Playwright's own
  const takes = ({ cookies = [], origins = [] }: Partial<StorageState>): Promise<boolean> =>
    context.setStorageState({ cookies, origins }).then(
      () => true,
      () => false,
    );
  if (await takes(all)) return 0;
  let leftOut = 0;
  const kept: StorageState = { cookies: [], origins: [] };
  for (const cookie of all.cookies) {
    if (await takes({ cookies: [cookie] })) kept.cookies.push(cookie);
    else leftOut += 1;
  }
  for (const origin of all.origins) {
    const takesIt = await takes({ origins: [origin] });
    kept.origins.push(takesIt ? origin : { origin: origin.origin, localStorage: origin.localStorage });
    if (!takesIt) leftOut += 1;
  }
  await context.setStorageState(kept);
  return leftOut;
}

/** The parts of Playwright's form that are looked at: <https://github.com/microsoft/playwright>, storageScript.ts. */
const store = z.looseObject({
  autoIncrement: z.boolean().optional(),
  keyPath: z.unknown().optional(),
  keyPathArray: z.unknown().optional(),
  records: z.array(z.looseObject({})),
});
const databases = z.array(z.looseObject({ stores: z.array(store) }));

/**
 * Playwright drops keys and values that are falsy (0, '', false, null): restoring such a record would fail in the middle, or
 * change it silently.
 */
function isWhole({ keyPath, keyPathArray }: z.infer<typeof store>, record: object): boolean {
  const hasKey = keyPath != null || keyPathArray != null || 'key' in record || 'keyEncoded' in record;
  const hasValue = 'value' in record || 'valueEncoded' in record;
  return hasKey && hasValue;
}
