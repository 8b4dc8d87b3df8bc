import * as z from 'zod';
import { ARTIFACT_KINDS } from './artifact-name.ts';
import { SNAPSHOTS, TOOLSETS } from './assignment.ts';
import type { EventKind } from './event-kinds.ts';
import { keepFiles } from './files.ts';
import { HIBERNATE } from './hibernation.ts';
import { epoch } from './lease-key.ts';
import { KEEP_PAGES } from './page-names.ts';
import { pageOptions } from './page-options.ts';
import { PROFILE_FORMS, PROFILE_MODES, profileName } from './profile.ts';
import { SESSION_STATES } from './states.ts';
import { isStorable } from './storable.ts';

/** Limits of request values. */
export const LIMITS = {
  idBytesMax: 256,
  tagsMax: 16,
  tagKeyMax: 64,
  tagValueMax: 256,
  ttlSecondsMin: 5,
  ttlSecondsMax: 86_400,
  ttlSecondsDefault: 600,
  waitSecondsDefault: 30,
  waitSecondsMax: 60,
  pageSizeDefault: 50,
  pageSizeMax: 200,
  bodyBytesMax: 64 * 1024,
} as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * An id chosen by the platform: any text without control characters, at most 256 bytes of UTF-8. Not a dot segment, which no URL can
 * hold: clients send `users/../policy` as `policy`.
 */
export const foreignId = z
  .string()
  .min(1)
  .refine(text => new TextEncoder().encode(text).length <= LIMITS.idBytesMax, {
    message: `must be at most ${LIMITS.idBytesMax} bytes`,
  })
  .refine(text => !CONTROL.test(text), { message: 'must not contain control characters' })
  .refine(text => text.isWellFormed(), { message: 'must be well-formed Unicode' })
  .refine(text => text !== '.' && text !== '..', { message: 'must not be . or ..' });

const tagText = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(text => !CONTROL.test(text) && text.isWellFormed(), { message: 'must be plain text' });

export const tagKey = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores');

export const tagsSchema = z
  .record(tagKey, tagText(LIMITS.tagValueMax))
  .refine(tags => Object.keys(tags).length <= LIMITS.tagsMax, { message: `must have at most ${LIMITS.tagsMax} tags` });
export type Tags = z.infer<typeof tagsSchema>;

/** Why a lease ended; `ended_reason` of the row. */
export const END_REASONS = [
  'released',
  'expired',
  'max_age',
  'evicted',
  'archived',
  'shutdown',
  'runner_lost',
  'runner_start_failed',
  'sandbox_runtime_required',
  'start_timed_out',
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Body of `POST /internal/browser-sessions/get-or-create` (O1). */
export const getOrCreateRequest = z
  .strictObject({
    user_id: foreignId,
    conversation_id: foreignId,
    ttl_seconds: z.int().min(LIMITS.ttlSecondsMin).max(LIMITS.ttlSecondsMax).default(LIMITS.ttlSecondsDefault),
    record_video: z.boolean().default(true),
    /** How long the call may wait for a browser; 0 answers at once. */
    wait_seconds: z.number().min(0).max(LIMITS.waitSecondsMax).default(LIMITS.waitSecondsDefault),
    /** Refuse with `credentials_not_configured` when the user has no credential. */
    require_credentials: z.boolean().default(false),
    /** False: the browser gets none of the user's credentials, and the secret store is not read. A live lease keeps its own. */
    credentials: z.boolean().default(true),
    tags: tagsSchema.optional(),
    /**
     * `url`: the answer's `mcp_url` holds the lease's token, and `mcp_headers` is empty, for clients that can be given an address only. It is
     * a secret then. In this answer alone: the lease takes both.
     */
    mcp_auth: z.enum(['header', 'url']).default('header'),
    /** The tools that the lease serves; default: the deployment's. A live lease keeps its own. */
    toolset: z.enum(TOOLSETS).optional(),
    /** Snapshot mode of results; default: the deployment's. A live lease keeps its own; a call may say otherwise. */
    snapshot: z.enum(SNAPSHOTS).optional(),
    /** Pages that are kept as artifacts; default: the deployment's. A live lease keeps its own. */
    keep_pages: z.enum(KEEP_PAGES).optional(),
    /** Uploads and downloads that stay after the session's end: none, all, or these names; default: the deployment's, `none` unless set. */
    keep_files: keepFiles.optional(),
    /**
     * The profile that the browser starts with; null or left out: none. A live lease keeps its own, and a request that names
     * another, or null, is refused with `profile_mismatch`, unless it switches.
     */
    profile: profileName.nullable().optional(),
    /** `read-write` saves the profile at the end of the lease, and one lease at a time may have it so. */
    profile_mode: z.enum(PROFILE_MODES).default('read-write'),
    /** `complete` restores and saves the browser's own files too; a profile that is complete stays so. */
    profile_form: z.enum(PROFILE_FORMS).default('light'),
    /**
     * Opens the tabs that are saved in the profile, with their sessionStorage, and saves those that are open with it. False: the tabs in
     * the profile stay as they are. A live lease keeps its own.
     */
    profile_tabs: z.boolean().default(false),
    /**
     * D4: a live lease that has another profile, or none, is followed by one with this profile, in a new epoch on another browser: its
     * tabs close, and its own profile is saved.
     */
    profile_switch: z.boolean().default(false),
    /**
     * When the session is hibernated, so that its tabs and logins come back with the next get-or-create: `node`, when the machine of its
     * browser goes away; `expiry`, also when its lease would expire or be evicted; default: the deployment's, which is `never` unless set.
     * A live lease keeps its own.
     */
    hibernate: z.enum(HIBERNATE).optional(),
    ...pageOptions.shape,
  })
  .meta({ id: 'GetOrCreateRequest' });
export type GetOrCreateRequest = z.infer<typeof getOrCreateRequest>;

/** Answer of get-or-create: 200 when `ready`, 202 with Retry-After when `starting`. */
export const leaseAnswer = z
  .object({
    session_id: z.uuid(),
    status: z.enum(['starting', 'ready']),
    epoch,
    /** MCP endpoint (Streamable HTTP); null while `starting`. With `mcp_auth: "url"` it holds the lease's bearer token. */
    mcp_url: z.string().nullable(),
    /** Headers that an MCP client must send; they hold the lease's bearer token, unless `mcp_url` does. Null while `starting`. */
    mcp_headers: z.record(z.string(), z.string()).nullable(),
    /** When the lease ends unless it is used; every use moves it. */
    expires_at: z.iso.datetime(),
    /** When the lease ends at the latest (S4). */
    ends_at: z.iso.datetime(),
  })
  .meta({ id: 'Lease' });
export type LeaseAnswer = z.infer<typeof leaseAnswer>;

/** A session as operators see it, without tokens. */
export const sessionSchema = z
  .object({
    session_id: z.uuid(),
    user_id: z.string(),
    conversation_id: z.string(),
    status: z.enum(SESSION_STATES),
    epoch,
    runner_id: z.uuid().nullable(),
    provider: z.string(),
    mcp_url: z.string().nullable(),
    tags: tagsSchema,
    record_video: z.boolean(),
    ttl_seconds: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    last_used_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    ends_at: z.iso.datetime(),
    archived_at: z.iso.datetime().nullable(),
    /** When the platform released the lease; null while it is held. */
    released_at: z.iso.datetime().nullable(),
    ended_reason: z.enum(END_REASONS).nullable(),
    /** The failure and what to do, when `status` is `error`. */
    error: z.string().nullable(),
    artifacts_prefix: z.string().nullable(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof sessionSchema>;

/** Body of release (O25); any epoch but the current one is refused. */
export const releaseRequest = z.strictObject({ epoch: epoch.optional() }).meta({ id: 'ReleaseRequest' });

/** Body of heartbeat (O2); any epoch but the current one is refused. */
export const heartbeatRequest = z.strictObject({ epoch: epoch.optional() }).meta({ id: 'HeartbeatRequest' });

export const heartbeatAnswer = z
  .object({
    /** Headers that an MCP client must send from now on, as those of get-or-create. */
    mcp_headers: z.record(z.string(), z.string()).nullable().optional(),
    session_id: z.uuid(),
    /** `hibernated`: its browser is gone; get-or-create brings its tabs back. Its expiry does not move. */
    status: z.enum(['starting', 'ready', 'hibernated']),
    epoch,
    expires_at: z.iso.datetime(),
    ends_at: z.iso.datetime(),
    last_used_at: z.iso.datetime(),
  })
  .meta({ id: 'HeartbeatAnswer' });
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswer>;

const pageSize = z.coerce.number().int().min(1).max(LIMITS.pageSizeMax).default(LIMITS.pageSizeDefault);

/** `key:value` in a query; may be repeated, and then all must match. */
export const tagFilter = z
  .union([z.string(), z.array(z.string())])
  .transform(tag => (Array.isArray(tag) ? tag : [tag]))
  .pipe(
    z
      .array(
        z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}:./, 'must be key:value')
          .refine(isStorable),
      )
      .max(LIMITS.tagsMax)
      .transform(pairs =>
        Object.fromEntries(pairs.map(pair => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)])),
      ),
  );

/** Query of `GET /internal/browser-sessions`. */
export const listQuery = z.strictObject({
  user_id: foreignId.optional(),
  conversation_id: foreignId.optional(),
  status: z.enum(SESSION_STATES).optional(),
  tag: tagFilter.optional(),
  archived: z.stringbool().default(false),
  limit: pageSize,
  cursor: z.string().max(512).optional(),
});
export type ListQuery = z.infer<typeof listQuery>;

export const sessionPage = z
  .object({ sessions: z.array(sessionSchema), next_cursor: z.string().nullable() })
  .meta({ id: 'SessionPage' });
export type SessionPage = z.infer<typeof sessionPage>;

/** One event of a session's timeline. `data` is redacted before it is written. */
export const eventSchema = z
  .object({
    id: z.string(),
    session_id: z.uuid(),
    epoch,
    at: z.iso.datetime(),
    /** A string on the wire, since a newer release may write more kinds; a kind that no release knows does not compile. */
    kind: z.string() as unknown as z.ZodType<EventKind>,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'SessionEvent' });
export type SessionEvent = z.infer<typeof eventSchema>;

export const eventQuery = z.strictObject({
  limit: pageSize,
  cursor: z.string().max(64).optional(),
  /** Events with this code alone: refused and failed tool calls, and what the egress proxy denied. */
  code: z
    .string()
    .regex(/^[a-z_]{1,64}$/, 'must be a code such as policy_blocked')
    .optional(),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventPage = z
  .object({ events: z.array(eventSchema), next_cursor: z.string().nullable() })
  .meta({ id: 'EventPage' });
export type EventPage = z.infer<typeof eventPage>;

/** A video, a file or a page of the session: stored, lost with a reason, or past its retention. */
export const artifactSchema = z
  .object({
    id: z.uuid(),
    session_id: z.uuid(),
    epoch,
    runner_id: z.uuid(),
    kind: z.enum(ARTIFACT_KINDS),
    /** e.g. `tab-001.webm`, `downloads/report.pdf`, `pages/last.jpg`. */
    name: z.string(),
    state: z.enum(['stored', 'lost', 'expired']),
    /** `file://` or `s3://`; null when lost. */
    uri: z.string().nullable(),
    bytes: z.int().nullable(),
    reason: z.string().nullable(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Artifact' });
export type Artifact = z.infer<typeof artifactSchema>;

export const artifactList = z.object({ artifacts: z.array(artifactSchema) }).meta({ id: 'ArtifactList' });

/**
 * Five minutes: the AWS SDK asks for new credentials when the old ones end within that time, so no URL outlives those that signed it.
 * https://github.com/smithy-lang/smithy-typescript/blob/main/packages/core/src/util-identity-and-auth/memoizeIdentityProvider.ts
 */
const URL_SECONDS_MAX = 300;

/** Body of `POST .../artifacts/{artifact_id}/url`. */
export const artifactUrlRequest = z
  .strictObject({ ttl_seconds: z.int().min(1).max(URL_SECONDS_MAX).default(60) })
  .meta({ id: 'ArtifactUrlRequest' });

/** The URL reads the artifact without a token until then: it is a secret. */
export const artifactUrlAnswer = z.object({ url: z.url(), expires_at: z.iso.datetime() }).meta({ id: 'ArtifactUrl' });
export type ArtifactUrl = z.infer<typeof artifactUrlAnswer>;
