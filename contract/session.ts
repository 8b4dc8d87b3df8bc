import * as z from 'zod';
import { ARTIFACT_KINDS } from './artifact-name.ts';
import { SNAPSHOTS, TOOLSETS } from './assignment.ts';
import type { EventKind } from './event-kinds.ts';
import { keepFiles } from './files.ts';
import { HIBERNATE } from './hibernation.ts';
import { epoch, runnerId, sessionId } from './lease-key.ts';
import { KEEP_PAGES } from './page-names.ts';
import { pageOptions } from './page-options.ts';
import { presetNames } from './policy/presets.ts';
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

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;

/**
 * An id chosen by the platform: any text without control characters, at most 256 bytes of UTF-8. Not a dot segment, which no URL can
 * hold: clients send `users/../policy` as `policy`.
 */
export const foreignId = z
  .string({
    error: ({ input }) => (input === undefined ? 'is required' : `must be a text such as "42", not ${kindOf(input)}`),
  })
  .min(1)
  .refine(text => new TextEncoder().encode(text).length <= LIMITS.idBytesMax, {
    message: `must be at most ${LIMITS.idBytesMax} bytes`,
  })
  .refine(text => !CONTROL.test(text), { message: 'must not contain control characters' })
  .refine(text => text.isWellFormed(), { message: 'must be well-formed Unicode' })
  .refine(text => text !== '.' && text !== '..', { message: 'must not be . or ..' });

export const userId = foreignId.describe('Id of the user, chosen by the platform.');
const conversationId = foreignId.describe('Id of the conversation among those of its user, chosen by the platform.');

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
    user_id: userId,
    conversation_id: conversationId,
    ttl_seconds: z
      .int()
      .min(LIMITS.ttlSecondsMin)
      .max(LIMITS.ttlSecondsMax)
      .default(LIMITS.ttlSecondsDefault)
      .describe('Seconds that the lease lives after its last use.'),
    record_video: z.boolean().default(true).describe('Records a video of each tab. A live lease keeps its own.'),
    wait_seconds: z
      .number()
      .min(0)
      .max(LIMITS.waitSecondsMax)
      .default(LIMITS.waitSecondsDefault)
      .describe(
        'Seconds that the call may wait for a browser; 0 answers at once. A caller that comes back to its place in the line a moment early waits up to 2 s more.',
      ),
    require_credentials: z
      .boolean()
      .default(false)
      .describe('Refuses with `credentials_not_configured` when the user has no credential.'),
    credentials: z
      .boolean()
      .default(true)
      .describe(
        "False: the browser gets none of the user's credentials, and the secret store is not read. A live lease keeps its own.",
      ),
    tags: tagsSchema
      .optional()
      .describe(
        'Labels of the session, by which sessions are listed and usage is counted: at most 16. Left out: a session keeps its own.',
      ),
    mcp_auth: z
      .enum(['header', 'url'])
      .default('header')
      .describe(
        "`header`: the lease's token is in `mcp_headers`. `url`: it is in `mcp_url`, which is then a secret, and `mcp_headers` is empty: for clients that take an address only. It changes this answer alone: the lease takes both.",
      ),
    toolset: z
      .enum(TOOLSETS)
      .optional()
      .describe("Tools that the lease serves; default: the deployment's. A live lease keeps its own."),
    snapshot: z
      .enum(SNAPSHOTS)
      .optional()
      .describe(
        "Snapshot mode of results; default: the deployment's. A live lease keeps its own; a call may say otherwise.",
      ),
    keep_pages: z
      .enum(KEEP_PAGES)
      .optional()
      .describe("Pages that are kept as artifacts; default: the deployment's. A live lease keeps its own."),
    keep_files: keepFiles
      .optional()
      .describe(
        "Uploads and downloads that stay after the session's end: none, all, or these names; default: the deployment's, `none` unless set.",
      ),
    policy_presets: presetNames
      .optional()
      .describe(
        "Presets of policies that hold beside the policies of deployment, user and session, from the lease's start to its end; default: the deployment's, none unless set. A live lease keeps its own.",
      ),
    profile: profileName
      .nullable()
      .optional()
      .describe(
        'Name of the profile that the browser starts with; null or left out: none. A live lease keeps its own, and a request that names another, or null, is refused with `profile_mismatch`, unless it switches.',
      ),
    profile_mode: z
      .enum(PROFILE_MODES)
      .default('read-write')
      .describe('`read-write` saves the profile at the end of the lease, and one lease at a time may have it so.'),
    profile_form: z
      .enum(PROFILE_FORMS)
      .default('light')
      .describe("`complete` restores and saves the browser's own files too; a profile that is complete stays so."),
    profile_tabs: z
      .boolean()
      .default(false)
      .describe(
        'Opens the tabs that are saved in the profile, with their sessionStorage, and saves those that are open with it. False: the tabs in the profile stay as they are. A live lease keeps its own.',
      ),
    profile_switch: z
      .boolean()
      .default(false)
      .describe(
        'A live lease that has another profile, or none, is followed by one with this profile, in a new epoch on another browser: its tabs close, and its own profile is saved.',
      ),
    hibernate: z
      .enum(HIBERNATE)
      .optional()
      .describe(
        "Time at which the session is hibernated, so that its tabs and logins come back with the next get-or-create: `node`, when the machine of its browser goes away; `expiry`, also when its lease would expire or be evicted; default: the deployment's, which is `never` unless set. A live lease keeps its own.",
      ),
    ...pageOptions.shape,
  })
  .meta({ id: 'GetOrCreateRequest' });
export type GetOrCreateRequest = z.infer<typeof getOrCreateRequest>;

const expiresAt = z.iso
  .datetime()
  .describe('End of the lease unless it is used; every use moves it. Hibernated sessions are kept until then.');
const endsAt = z.iso.datetime().describe('End of the lease at the latest, however much it is used.');

/** Answer of get-or-create: 200 when `ready`, 202 with Retry-After when `starting`. */
export const leaseAnswer = z
  .object({
    session_id: sessionId,
    status: z.enum(['starting', 'ready']).describe('`starting`: no browser serves the lease yet; repeat the request.'),
    epoch,
    mcp_url: z
      .string()
      .nullable()
      .describe(
        'MCP endpoint (Streamable HTTP); null while `starting`. With `mcp_auth: "url"` it holds the lease\'s bearer token.',
      ),
    mcp_headers: z
      .record(z.string(), z.string())
      .nullable()
      .describe(
        "Headers that an MCP client must send; they hold the lease's bearer token, unless `mcp_url` does. Null while `starting`.",
      ),
    expires_at: expiresAt,
    ends_at: endsAt,
  })
  .meta({ id: 'Lease' });
export type LeaseAnswer = z.infer<typeof leaseAnswer>;

/** A session as operators see it, without tokens. */
export const sessionSchema = z
  .object({
    session_id: sessionId,
    user_id: z.string().describe('User whose session it is.'),
    conversation_id: z.string().describe('Conversation of the user whose session it is.'),
    status: z
      .enum(SESSION_STATES)
      .describe('`ended` and `error` are final for the epoch: the next get-or-create starts a new one.'),
    epoch,
    runner_id: z.uuid().nullable().describe('Runner of the current epoch; null when it has none.'),
    provider: z.string().describe('Provider of the runner: `kubernetes`, `local` or `kernel`.'),
    mcp_url: z
      .string()
      .nullable()
      .describe('MCP endpoint of the lease, without its token; null unless `status` is `ready`.'),
    tags: tagsSchema.describe('Labels that the platform gave the session.'),
    record_video: z.boolean().describe('Whether videos of its tabs are recorded.'),
    ttl_seconds: z.int().describe('Seconds that the lease lives after its last use.'),
    created_at: z.iso.datetime().describe('Time of the first get-or-create.'),
    updated_at: z.iso.datetime().describe('Time of the last change of the session.'),
    last_used_at: z.iso.datetime().describe('Time of the last use: get-or-create, heartbeat or activity of the agent.'),
    expires_at: expiresAt,
    ends_at: endsAt,
    archived_at: z.iso.datetime().nullable().describe('Time at which the session was archived; null: it was not.'),
    released_at: z.iso
      .datetime()
      .nullable()
      .describe('Time at which the platform released the lease; null while it is held.'),
    ended_reason: z.enum(END_REASONS).nullable().describe('Reason for which the lease ended; null unless it has.'),
    error: z
      .string()
      .nullable()
      .describe(
        'Failure and what to do, when `status` is `error`, or when a hibernated session could not be restored; else null.',
      ),
    artifacts_prefix: z
      .string()
      .nullable()
      .describe("Prefix of the lease's videos and files in the artifact store; null when it has none."),
  })
  .meta({ id: 'Session' });
export interface Session extends z.infer<typeof sessionSchema> {}

export const expectedEpoch = epoch.describe(
  'Epoch of the lease that is meant: any but the current one is refused. Left out: the current one.',
);

/** Body of release (O25). */
export const releaseRequest = z
  .strictObject({
    epoch: expectedEpoch.optional(),
  })
  .meta({ id: 'ReleaseRequest' });

/** Body of heartbeat (O2). */
export const heartbeatRequest = z
  .strictObject({
    epoch: expectedEpoch.optional(),
  })
  .meta({ id: 'HeartbeatRequest' });

export const heartbeatAnswer = z
  .object({
    mcp_headers: z
      .record(z.string(), z.string())
      .nullable()
      .optional()
      .describe(
        'Headers that an MCP client must send from now on, as those of get-or-create; null unless `status` is `ready`.',
      ),
    session_id: sessionId,
    status: z
      .enum(['starting', 'ready', 'hibernated'])
      .describe('`hibernated`: its browser is gone; get-or-create brings its tabs back. Its expiry does not move.'),
    epoch,
    expires_at: expiresAt,
    ends_at: endsAt,
    last_used_at: z.iso
      .datetime()
      .describe('Time of the last use, which this heartbeat is unless the session is hibernated.'),
  })
  .meta({ id: 'HeartbeatAnswer' });
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswer>;

const nextCursor = z.string().nullable().describe('Value of `cursor` for the next page; null: there is none.');
const pageSize = z.coerce
  .number()
  .int()
  .min(1)
  .max(LIMITS.pageSizeMax)
  .default(LIMITS.pageSizeDefault)
  .describe('Largest number of results.');

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
  user_id: foreignId.optional().describe('Sessions of this user alone.'),
  conversation_id: foreignId.optional().describe('Sessions of this conversation alone.'),
  status: z.enum(SESSION_STATES).optional().describe('Sessions in this state alone.'),
  tag: tagFilter
    .optional()
    .describe('Sessions with this tag, as `key:value`; may be repeated, and then all must match.'),
  archived: z.stringbool().default(false).describe('Lists archived sessions too.'),
  limit: pageSize,
  cursor: z.string().max(512).optional().describe('Place to go on from: `next_cursor` of the page before.'),
});
export type ListQuery = z.infer<typeof listQuery>;

export const sessionPage = z
  .object({
    sessions: z.array(sessionSchema).describe('Sessions, newest first.'),
    next_cursor: nextCursor,
  })
  .meta({ id: 'SessionPage' });
export interface SessionPage extends z.infer<typeof sessionPage> {}

/** One event of a session's timeline. `data` is redacted before it is written. */
export const eventSchema = z
  .object({
    id: z.string().describe('Id of the event.'),
    session_id: sessionId,
    epoch,
    at: z.iso.datetime().describe('Time of the event.'),
    // a kind that no release knows does not compile
    kind: z
      .string()
      .describe(
        'Kind of the event, e.g. `tool.call`. Newer releases may write more kinds.',
      ) as unknown as z.ZodType<EventKind>,
    data: z
      .record(z.string(), z.unknown())
      .describe('Details of the event, by its kind; redacted before they are written.'),
  })
  .meta({ id: 'SessionEvent' });
export interface SessionEvent extends z.infer<typeof eventSchema> {}

export const eventQuery = z.strictObject({
  limit: pageSize,
  cursor: z.string().max(64).optional().describe('Place to go on from: `next_cursor` of the page before.'),
  code: z
    .string()
    .regex(/^[a-z_]{1,64}$/, 'must be a code such as policy_blocked')
    .optional()
    .describe('Events with this code alone: refused and failed tool calls, and requests that the egress proxy denied.'),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventPage = z
  .object({
    events: z.array(eventSchema).describe('Events of the timeline, oldest first.'),
    next_cursor: nextCursor,
  })
  .meta({ id: 'EventPage' });
export interface EventPage extends z.infer<typeof eventPage> {}

/** A video, a file or a page of the session: stored, lost with a reason, or past its retention. */
export const artifactSchema = z
  .object({
    id: z.uuid().describe('Id of the artifact.'),
    session_id: sessionId,
    epoch,
    runner_id: runnerId,
    kind: z.enum(ARTIFACT_KINDS).describe('A video of a tab, a file of the session, or a kept page.'),
    name: z.string().describe('Name within the lease, e.g. `tab-001.webm`, `downloads/report.pdf`, `pages/last.jpg`.'),
    state: z
      .enum(['stored', 'lost', 'expired'])
      .describe('`lost`: it could not be stored. `expired`: its retention is over.'),
    uri: z
      .string()
      .nullable()
      .describe(
        'Address in the artifact store, `file://` or `s3://`; null when lost, and for a file whose session has ended.',
      ),
    bytes: z.int().nullable().describe('Size in bytes; null when lost.'),
    reason: z.string().nullable().describe('Reason for which it is lost or expired; null when stored.'),
    created_at: z.iso.datetime().describe('Time at which it was reported.'),
  })
  .meta({ id: 'Artifact' });
export interface Artifact extends z.infer<typeof artifactSchema> {}

export const artifactList = z
  .object({ artifacts: z.array(artifactSchema).describe('Artifacts of all leases of the session.') })
  .meta({ id: 'ArtifactList' });

/**
 * Five minutes: the AWS SDK asks for new credentials when the old ones end within that time, so no URL outlives those that signed it.
 * https://github.com/smithy-lang/smithy-typescript/blob/main/packages/core/src/util-identity-and-auth/memoizeIdentityProvider.ts
 */
const URL_SECONDS_MAX = 300;

/** Body of `POST .../artifacts/{artifact_id}/url`. */
export const artifactUrlRequest = z
  .strictObject({
    ttl_seconds: z.int().min(1).max(URL_SECONDS_MAX).default(60).describe('Seconds for which the URL is valid.'),
  })
  .meta({ id: 'ArtifactUrlRequest' });

/** The URL reads the artifact without a token until then: it is a secret. */
export const artifactUrlAnswer = z
  .object({
    url: z.url().describe('Address that reads the artifact without a token: it is a secret.'),
    expires_at: z.iso.datetime().describe('Time at which the URL stops working.'),
  })
  .meta({ id: 'ArtifactUrl' });
export interface ArtifactUrl extends z.infer<typeof artifactUrlAnswer> {}
