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
          name: z.string(),
          value: z.string(),
          domain: z.string().min(1).max(255).refine(isStorable, { message: 'must be plain text' }),
          path: z.string(),
          /** Seconds since 1970; -1 for a session cookie. */
          expires: z.number(),
          httpOnly: z.boolean(),
          secure: z.boolean(),
          sameSite: z.enum(['Strict', 'Lax', 'None']),
        }),
      )
      .max(20_000),
    origins: z
      .array(
        z.strictObject({
          origin: webOrigin,
          localStorage: z.array(z.strictObject({ name: z.string(), value: z.string() })),
          indexedDB: z.array(z.record(z.string(), z.unknown())).optional(),
        }),
      )
      .max(1_000),
  })
  .meta({ id: 'ProfileState' });
export type ProfileState = z.infer<typeof profileState>;

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
    /** Major version of the Chromium that wrote them. */
    chromium: z.int().min(1),
    chunks: z
      .array(
        z.strictObject({
          /** Name in the profile store. */
          object: sha256,
          /** Digest of the chunk's content. */
          sha256,
          bytes: z.int().min(1).max(PROFILE_LIMITS.chunkBytesMax),
        }),
      )
      .max(10_000),
    /** `at`: where the file begins in the chunks. */
    files: z.array(z.strictObject({ path: filePath, at: z.int().min(0), bytes: z.int().min(0) })).max(100_000),
  })
  .meta({ id: 'ProfileFiles' });
export type ProfileFiles = z.infer<typeof profileFiles>;

/** Contents of one version; `files` null: it is light. `tabs` left out: no lease with tabs has saved it yet. */
export const profileContent = z.object({
  state: profileState,
  files: profileFiles.nullable(),
  tabs: savedTabs.optional(),
});
export type ProfileContent = z.infer<typeof profileContent>;

/** A domain with a cookie that scripts cannot read, which is how most sites keep a login. */
export const profileDomain = z
  .object({
    domain: z.string(),
    /** When the last such cookie expires; null: it is a session cookie. */
    expires_at: z.iso.datetime().nullable(),
    /** Whether the login may still hold: the cookie has not expired. */
    logged_in: z.boolean(),
  })
  .meta({ id: 'ProfileDomain' });
export type ProfileDomain = z.infer<typeof profileDomain>;

const versionShape = {
  version: profileVersionNumber,
  form: z.enum(PROFILE_FORMS),
  /** Bytes that it takes in the store, with those that it shares with other versions: compressed and encrypted. */
  bytes: z.int(),
  saved_at: z.iso.datetime(),
  /** The lease that saved it; null: it was imported or restored. */
  session_id: z.uuid().nullable(),
};

export const profileVersion = z.object(versionShape).meta({ id: 'ProfileVersion' });
export type ProfileVersion = z.infer<typeof profileVersion>;

/** A profile as its user's platform sees it; nothing of its content but the domains. */
export const profileSchema = z
  .object({
    user_id: z.string(),
    name: profileName,
    /** The current one; 0: nothing was saved yet. */
    version: profileVersionNumber,
    /** Bytes of all versions that are kept. */
    bytes: z.int(),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime(),
    saved_at: z.iso.datetime().nullable(),
    domains: z.array(profileDomain),
    /** The live lease that may save it. */
    writer_session_id: z.uuid().nullable(),
  })
  .meta({ id: 'Profile' });
export type Profile = z.infer<typeof profileSchema>;

export const profileList = z.object({ profiles: z.array(profileSchema) }).meta({ id: 'ProfileList' });

/** One profile with the versions that are kept, newest first. */
export const profileDetail = z
  .object({ ...profileSchema.shape, versions: z.array(profileVersion) })
  .meta({ id: 'ProfileDetail' });
export type ProfileDetail = z.infer<typeof profileDetail>;

/** Body of `POST …/restore`: a version that is kept; left out, the one before the current one. */
export const profileRestoreRequest = z
  .strictObject({ version: profileVersionNumber.min(1).optional() })
  .meta({ id: 'ProfileRestoreRequest' });

/** Body of `POST …/check`: a page, and what it shows to who is logged in. */
export const profileCheckRequest = z
  .strictObject({
    url: z.url({ protocol: /^https?$/ }).max(2_048),
    /** CSS, or another selector of Playwright's. */
    selector: z.string().min(1).max(1_000).optional(),
    text: z.string().min(1).max(1_000).optional(),
  })
  .refine(({ selector, text }) => (selector === undefined) !== (text === undefined), {
    message: 'must have either a selector or a text',
  })
  .meta({ id: 'ProfileCheckRequest' });
export type ProfileCheckRequest = z.infer<typeof profileCheckRequest>;

/** Whether a login of a profile still holds, as its site shows it. */
export const profileCheck = z
  .object({
    /** Null: the page was not shown. */
    logged_in: z.boolean().nullable(),
    /** Address of the browser at the end: a site may have sent it to its login. */
    url: z.string(),
  })
  .meta({ id: 'ProfileCheck' });
export type ProfileCheck = z.infer<typeof profileCheck>;

/** Request of an agent for its lease, by a tool of its runner; `name` null: no profile. */
export const profileChoice = z.strictObject({
  name: profileName.nullable(),
  mode: z.enum(PROFILE_MODES).default('read-write'),
});
export type ProfileChoice = z.infer<typeof profileChoice>;

/** The state with which a runner starts; null: nothing was saved yet. */
export const runnerProfile = z.object({ version: profileVersionNumber, content: profileContent.nullable() });
export type RunnerProfile = z.infer<typeof runnerProfile>;

/** Body of `PUT /internal/runner-profile` (lease token): saves over this version, and over no other. */
export const profileSave = z
  .strictObject({
    base_version: profileVersionNumber,
    state: profileState,
    files: profileFiles.nullable().default(null),
    tabs: savedTabs.optional(),
  })
  .meta({ id: 'ProfileSave' });

/** The version that holds what was saved; the one before, where nothing had changed. */
export const profileSaved = z.object({ version: profileVersionNumber }).meta({ id: 'ProfileSaved' });

/** Chunks by their names in the profile store, in the order in which they came. */
export const profileChunksStored = z.object({ objects: z.array(sha256) }).meta({ id: 'ProfileChunksStored' });

/** Body of `POST /internal/runner-profile/chunks/read`: chunks that are wanted, one after the other. */
export const profileChunksRequest = z
  .strictObject({ objects: z.array(sha256).min(1).max(PROFILE_LIMITS.chunksAtOnceMax) })
  .meta({ id: 'ProfileChunksRequest' });
