import * as z from 'zod';
import { savedTabs } from './saved-tabs.ts';
import { isStorable } from './storable.ts';

/** Limits of profiles. */
export const PROFILE_LIMITS = {
  /** One version, as JSON: what passes between runner and controller at once. */
  stateBytesMax: 32 * 1024 * 1024,
  /** Versions that a profile keeps; a save beyond them removes the oldest. */
  versionsMax: 10,
  profilesMax: 100,
  /** The browser's files are cut into chunks of this size: an addition to a large file writes one of them again. */
  chunkBytesMax: 4 * 1024 * 1024,
  /** Chunks that a runner reads or writes with one request: most are of some 100 kB, and a request for each took 5 ms. */
  chunksAtOnceMax: 64,
  /** Bytes that the files of one version may take, before they are compressed. */
  filesBytesMax: 1024 * 1024 * 1024,
} as const;

/** The name of a profile among those of its user, e.g. `gmail-work`. */
export const profileName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, dashes or underscores');

export const PROFILE_MODES = ['read-write', 'read-only'] as const;

/**
 * `light`: cookies, localStorage and IndexedDB, restored into a warm browser. `complete`: the browser's own files too (service workers,
 * Cache Storage, IndexedDB as it is), for which the browser is started again.
 */
export const PROFILE_FORMS = ['light', 'complete'] as const;
export type ProfileForm = (typeof PROFILE_FORMS)[number];

/** The profile of one lease: what its browser starts with, and whether it is saved, and how. */
export const leaseProfile = z.object({
  name: profileName,
  mode: z.enum(PROFILE_MODES),
  form: z.enum(PROFILE_FORMS).optional(),
  /** Whether the lease opens the tabs that are saved in it, and saves its own. */
  tabs: z.boolean().optional(),
});
export type LeaseProfile = z.infer<typeof leaseProfile>;

/** The versions of a profile are counted from 1; 0: nothing was saved yet. */
export const profileVersionNumber = z.int().min(0).max(2_147_483_647);

/** An origin of the web. Restoring visits it, so that nothing but a site may be named. */
const webOrigin = z
  .string()
  .max(512)
  .refine(text => /^https?:/.test(text) && URL.parse(text)?.origin === text, {
    message: 'must be the origin of a site, e.g. https://example.com',
  });

/**
 * Contents of a light profile, as Playwright writes them: cookies (session cookies too), localStorage and IndexedDB.
 * <https://playwright.dev/docs/api/class-browsercontext#browser-context-storage-state>
 */
export const profileState = z
  .strictObject({
    cookies: z
      .array(
        z.looseObject({
          name: z.string().describe('Name of the cookie.'),
          value: z.string().describe('Value of the cookie.'),
          domain: z
            .string()
            .min(1)
            .max(255)
            .refine(isStorable, { message: 'must be plain text' })
            .describe('Domain of the cookie; with a leading dot, its subdomains too.'),
          path: z.string().describe('Path below which it is sent.'),
          expires: z.number().describe('Seconds since 1970; -1 for a session cookie.'),
          httpOnly: z.boolean().describe('Whether scripts cannot read it.'),
          secure: z.boolean().describe('Whether it is sent over https only.'),
          sameSite: z.enum(['Strict', 'Lax', 'None']).describe('Requests from other sites with which it is sent.'),
        }),
      )
      .max(20_000)
      .describe('Cookies, session cookies too.'),
    origins: z
      .array(
        z.strictObject({
          origin: webOrigin.describe('Origin of the site, e.g. `https://example.com`.'),
          localStorage: z
            .array(
              z.strictObject({
                name: z.string().describe('Key of the entry.'),
                value: z.string().describe('Value of the entry.'),
              }),
            )
            .describe('Entries of localStorage.'),
          indexedDB: z
            .array(z.record(z.string(), z.unknown()))
            .optional()
            .describe("Databases of IndexedDB, as Playwright's storage state has them; left out: none."),
        }),
      )
      .max(1_000)
      .describe('Storage of sites, by their origin.'),
  })
  .meta({ id: 'ProfileState' });
export interface ProfileState extends z.infer<typeof profileState> {}

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The path of a file below the browser's user data folder. It is written to disk, so nothing may lead out of it. */
const filePath = z
  .string()
  .max(1024)
  .regex(/^Default(\/[^/\\\0]+)+$/)
  .refine(path => !path.split('/').some(part => part === '.' || part === '..'));

/** The browser's own files in a complete profile: which they are, and the chunks that hold them one after the other. */
export const profileFiles = z
  .strictObject({
    chromium: z.int().min(1).describe('Major version of the Chromium that wrote the files.'),
    chunks: z
      .array(
        z.strictObject({
          object: sha256.describe('Name in the profile store.'),
          sha256: sha256.describe("Digest of the chunk's content: SHA-256, hex."),
          bytes: z.int().min(1).max(PROFILE_LIMITS.chunkBytesMax).describe('Size in bytes.'),
        }),
      )
      .max(10_000)
      .describe('Chunks that hold the files one after the other.'),
    files: z
      .array(
        z.strictObject({
          path: filePath.describe("Path below the browser's user data folder."),
          at: z.int().min(0).describe('Byte at which the file begins in the chunks.'),
          bytes: z.int().min(0).describe('Size in bytes.'),
        }),
      )
      .max(100_000)
      .describe('Files of the browser.'),
  })
  .meta({ id: 'ProfileFiles' });
export type ProfileFiles = z.infer<typeof profileFiles>;

/** Contents of one version. */
export const profileContent = z.object({
  state: profileState.describe('Cookies, localStorage and IndexedDB.'),
  files: profileFiles.nullable().describe("The browser's own files; null: the version is light."),
  tabs: savedTabs.optional().describe('Saved tabs; left out: no lease with tabs has saved the profile yet.'),
});
export type ProfileContent = z.infer<typeof profileContent>;

export const profileDomain = z
  .object({
    domain: z.string().describe('Domain with a cookie that scripts cannot read, which is how most sites keep a login.'),
    expires_at: z.iso
      .datetime()
      .nullable()
      .describe('Time at which the last such cookie expires; null: it is a session cookie.'),
    logged_in: z.boolean().describe('Whether the login may still hold: the cookie has not expired.'),
  })
  .meta({ id: 'ProfileDomain' });
export type ProfileDomain = z.infer<typeof profileDomain>;

const versionShape = {
  version: profileVersionNumber.describe('Number of the version.'),
  form: z.enum(PROFILE_FORMS).describe("`complete`: it has the browser's own files too."),
  bytes: z
    .int()
    .describe(
      'Bytes that it takes in the store, with those that it shares with other versions: compressed and encrypted.',
    ),
  saved_at: z.iso.datetime().describe('Time of the save.'),
  session_id: z.uuid().nullable().describe('Session whose lease saved it; null: it was imported or restored.'),
};

export const profileVersion = z.object(versionShape).meta({ id: 'ProfileVersion' });
export interface ProfileVersion extends z.infer<typeof profileVersion> {}

/** A profile as its user's platform sees it; nothing of its content but the domains. */
export const profileSchema = z
  .object({
    user_id: z.string().describe('User whose profile it is.'),
    name: profileName.describe('Name among the profiles of its user.'),
    version: profileVersionNumber.describe('Number of the current version; 0: nothing was saved yet.'),
    bytes: z.int().describe('Bytes of all versions that are kept.'),
    created_at: z.iso.datetime().describe('Time at which the profile was created.'),
    last_used_at: z.iso.datetime().describe('Time of its last use by a lease.'),
    saved_at: z.iso.datetime().nullable().describe('Time of the last save; null: nothing was saved yet.'),
    domains: z.array(profileDomain).describe('Domains with a login.'),
    writer_session_id: z.uuid().nullable().describe('Session whose live lease may save it; null: none.'),
  })
  .meta({ id: 'Profile' });
export interface Profile extends z.infer<typeof profileSchema> {}

export const profileList = z
  .object({ profiles: z.array(profileSchema).describe('Profiles by name.') })
  .meta({ id: 'ProfileList' });

export const profileDetail = z
  .object({
    ...profileSchema.shape,
    versions: z.array(profileVersion).describe('Versions that are kept, newest first.'),
  })
  .meta({ id: 'ProfileDetail' });
export interface ProfileDetail extends z.infer<typeof profileDetail> {}

/** Body of `POST …/restore`. */
export const profileRestoreRequest = z
  .strictObject({
    version: profileVersionNumber
      .min(1)
      .optional()
      .describe('Version that is kept; left out: the one before the current one.'),
  })
  .meta({ id: 'ProfileRestoreRequest' });

/** Body of `POST …/check`: a page, and what it shows to who is logged in. */
export const profileCheckRequest = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .max(2_048)
      .describe('Page that is opened.'),
    selector: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Element that the page shows after a login: CSS, or another selector of Playwright. Either this or `text`.',
      ),
    text: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Text that the page shows after a login. Either this or `selector`.'),
  })
  .refine(({ selector, text }) => (selector === undefined) !== (text === undefined), {
    message: 'must have either a selector or a text',
  })
  .meta({ id: 'ProfileCheckRequest' });
export type ProfileCheckRequest = z.infer<typeof profileCheckRequest>;

/** Whether a login of a profile still holds, as its site shows it. */
export const profileCheck = z
  .object({
    logged_in: z.boolean().nullable().describe('Whether the page showed it; null: the page was not shown.'),
    url: z.string().describe('Address of the browser at the end: a site may have sent it to its login.'),
  })
  .meta({ id: 'ProfileCheck' });
export interface ProfileCheck extends z.infer<typeof profileCheck> {}

/** Request of an agent for its lease, by a tool of its runner. */
export const profileChoice = z.strictObject({
  name: profileName.nullable().describe('Name of the profile; null: none.'),
  mode: z.enum(PROFILE_MODES).default('read-write').describe('`read-write` saves the profile at the end of the lease.'),
});
export type ProfileChoice = z.infer<typeof profileChoice>;

/** The state with which a runner starts. */
export const runnerProfile = z
  .object({
    version: profileVersionNumber.describe('Version that the lease starts with; 0: nothing was saved yet.'),
    content: profileContent.nullable().describe('Content of that version; null: nothing was saved yet.'),
  })
  .meta({ id: 'RunnerProfile' });
export type RunnerProfile = z.infer<typeof runnerProfile>;

/** Body of `PUT /internal/runner-profile` (lease token). */
export const profileSave = z
  .strictObject({
    base_version: profileVersionNumber.describe('Version over which it is saved, and over no other.'),
    state: profileState.describe('Cookies, localStorage and IndexedDB.'),
    files: profileFiles.nullable().default(null).describe("The browser's own files; null: the profile is light."),
    tabs: savedTabs.optional().describe('Tabs of the saved version; left out: it has none.'),
  })
  .meta({ id: 'ProfileSave' });

export const profileSaved = z
  .object({
    version: profileVersionNumber.describe(
      'Version that holds what was saved; the one before, where nothing had changed.',
    ),
  })
  .meta({ id: 'ProfileSaved' });

export const profileChunksStored = z
  .object({ objects: z.array(sha256).describe('Names in the profile store, in the order in which the chunks came.') })
  .meta({ id: 'ProfileChunksStored' });

/** Body of `POST /internal/runner-profile/chunks/read`. */
export const profileChunksRequest = z
  .strictObject({
    objects: z
      .array(sha256)
      .min(1)
      .max(PROFILE_LIMITS.chunksAtOnceMax)
      .describe('Names in the profile store of the chunks that are wanted.'),
  })
  .meta({ id: 'ProfileChunksRequest' });
