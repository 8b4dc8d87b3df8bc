import * as z from 'zod';
import type { RunnerOptions } from '../../contract/assignment.ts';
import type { KeepFiles } from '../../contract/files.ts';
import type { Hibernate } from '../../contract/hibernation.ts';
import { type PageOptions, pageOptions } from '../../contract/page-options.ts';
import { type PolicyPreset, withPresets } from '../../contract/policy/presets.ts';
import type { EndReason, GetOrCreateRequest } from '../../contract/session.ts';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';
import { type Claim, claimBeats } from './claim-beats.ts';
import { type RunnerRow, runnerRow, type SessionRow, sessionRow } from './rows.ts';

/** One get-or-create, as the database needs it. */
export interface Acquisition {
  /** The caller's request. */
  request: Pick<
    GetOrCreateRequest,
    | 'user_id'
    | 'conversation_id'
    | 'ttl_seconds'
    | 'record_video'
    | 'credentials'
    | 'toolset'
    | 'snapshot'
    | 'keep_files'
    | 'keep_pages'
    | 'policy_presets'
    | 'tags'
    | 'profile'
    | 'profile_mode'
    | 'profile_form'
    | 'profile_tabs'
    | 'profile_switch'
    | 'hibernate'
    | keyof PageOptions
  >;
  /** Names this call; a repeated call finds its own claim again. */
  claimId: string;
  /** A claim of this caller whose runner failed, to be given up for a new epoch. */
  abandonClaimId: string | null;
  /** Leases that would be evicted and ask for it are hibernated first, except these. Null: they are ended. */
  unhibernated: readonly string[] | null;
  provider: string;
  template: string;
  namespace: string;
  /** Stays in the line where every place is taken: `turns` says when to ask again. */
  waits: boolean;
}

export type Acquired =
  | { outcome: 'renewed'; session: SessionRow }
  /** The caller owns the start of this epoch, and of this runner. `evicted`: other leases of the user were ended for it. */
  | { outcome: 'claimed'; session: SessionRow; runner: RunnerRow; evicted: boolean }
  /** Another caller does. */
  | { outcome: 'starting'; session: SessionRow }
  /** Leases of the user that give way and are to be hibernated: do that, or say that they cannot be, and ask again. */
  | { outcome: 'evicts'; sessions: string[] }
  | {
      outcome: 'refused';
      code: (typeof REFUSALS)[number];
      limit: number;
      active: number;
      retryAfterMs: number;
      /** With `profile_in_use`: the session whose lease has the profile; of `profile_mismatch`: the hibernated one. */
      holder?: string | undefined;
      /** With `capacity_exceeded`: the caller's place in the line, how many are before it, and how many of those are waiting now. */
      place?: string | undefined;
      /** It had that place before this call. */
      returns?: boolean | undefined;
      turn?: number | undefined;
      ahead?: number | undefined;
      /** With `capacity_exceeded`: until a place comes free for it, by those that came free in the last minute. */
      waitMs?: number | undefined;
      /** With `provider_mismatch`: where the lease lives. */
      provider?: string | undefined;
    };

const REFUSALS = [
  'user_quota_exceeded',
  'capacity_exceeded',
  'predecessor_draining',
  'provider_mismatch',
  'profile_in_use',
  'profile_mismatch',
  'profile_not_found',
  'profile_quota_exceeded',
] as const;

export type Renewed =
  | { outcome: 'renewed'; session: SessionRow }
  | { outcome: 'superseded' | 'hibernated' | 'ended'; session: SessionRow }
  | { outcome: 'not_found' };

export type Released = { outcome: 'released' | 'superseded' | 'ended'; session: SessionRow } | { outcome: 'not_found' };

export type Ended =
  /** `served`: a runner may still act in that epoch, or an earlier one. `runner`: the one that the caller is to drain; null: the drain loop does. */
  | { outcome: 'ended' | 'already_ended'; session: SessionRow; served: boolean; runner: RunnerRow | null }
  | { outcome: 'superseded'; session: SessionRow }
  | { outcome: 'not_found' };

/** Facts about a lease that are known at its start. */
export interface StartedLease {
  mcpUrl: string;
  /** Name of the runner's Kubernetes pod and Service; null elsewhere. */
  workload: string | null;
  /** Prefix of the recording under the artifact store's root. */
  prefix: string;
}

/**
 * The lease protocol, one database function a step. Every step may be repeated; a step that came too late answers so
 * and changes nothing. All throw `store_unavailable` when the database cannot be reached: then nothing is known, ask
 * again.
 */
export interface Leases {
  acquire(acquisition: Acquisition): Promise<Acquired>;
  /** Answers which of these places in the line are to ask again now; keeps the others in it for some seconds. */
  turns(provider: string, template: string, places: readonly string[]): Promise<string[]>;
  /** The caller waits here no longer. `returns`: its place is kept for when it comes back, after `retryAfterMs`. */
  leaveLine(place: string, returns: boolean): Promise<{ turn: number; retryAfterMs: number; waitMs: number } | null>;
  /** Keeps a live claimer's claim. False: it is over. */
  beat(claim: Claim): Promise<boolean>;
  /** Must be called before an assignment goes to a runner that came up after the claim. Null: do not send. */
  beginAssignment(claim: Claim): Promise<RunnerRow | null>;
  /** Null: another caller won; read again. */
  makeReady(claim: Claim, lease: StartedLease): Promise<SessionRow | null>;
  /** False: the claim was over already. */
  fail(claim: Claim, reason: EndReason, error: string): Promise<boolean>;
  /** `userId`: sessions of others are not found. `epoch` null: the current one. */
  heartbeat(sessionId: string, userId: string | null, epoch: number | null): Promise<Renewed>;
  /** With `drainSeconds` the caller drains the runner itself, and no drain loop takes it for as long. */
  end(
    sessionId: string,
    userId: string | null,
    epoch: number | null,
    reason: EndReason,
    drainSeconds?: number | null,
  ): Promise<Ended>;
  /** The platform lets the lease go: it idles out, and gives way to another one meanwhile. */
  release(sessionId: string, userId: string | null, epoch: number | null): Promise<Released>;
  /** Chooses leases that give way to callers in the line, as many as lack a place, at most this many. None is chosen again within 30 s. */
  yielding(provider: string, template: string, most: number): Promise<{ id: string; hibernates: boolean }[]>;
  /** Ends a lease that gives way. False: it is held again, or over. */
  endReleased(sessionId: string): Promise<boolean>;
  /** Whether a runner of an ended epoch, this one or an earlier, may still answer agents. */
  mayAct(sessionId: string, epoch: number): Promise<boolean>;
}

export interface LeaseRules {
  userLimit: number;
  onUserLimit: 'reject' | 'evict_oldest';
  maxSessionSeconds: number;
  /** How far ahead a live claimer keeps its claim. */
  claimSeconds: number;
  /** The stuck-starting guard (O18). */
  startSeconds: number;
  /** When sessions are hibernated whose request does not say. */
  hibernate: Hibernate;
  /** Files that stay after their session, where its request does not say. */
  keepFiles: Exclude<KeepFiles, string[]>;
  /** Presets of policies for sessions whose request does not name its own. */
  policyPresets?: readonly PolicyPreset[];
}

const acquired = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('renewed'), session: sessionRow }),
  z.object({ outcome: z.literal('claimed'), session: sessionRow, runner: runnerRow, evicted: z.boolean() }),
  z.object({ outcome: z.literal('starting'), session: sessionRow }),
  z.object({ outcome: z.literal('evicts'), sessions: z.array(z.uuid()) }),
  z
    .object({
      outcome: z.literal('refused'),
      code: z.enum(REFUSALS),
      holder: z.uuid().optional(),
      provider: z.string().optional(),
      place: z.int().transform(String).optional(),
      returns: z.boolean().optional(),
      turn: z.int().optional(),
      ahead: z.int().optional(),
      limit: z.int(),
      active: z.int(),
      retry_after_ms: z.number(),
      wait_ms: z.int().optional(),
    })
    .transform(({ retry_after_ms, wait_ms, ...refusal }) => ({
      ...refusal,
      retryAfterMs: retry_after_ms,
      waitMs: wait_ms,
    })),
]);

const renewed = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['renewed']), session: sessionRow }),
  z.object({ outcome: z.enum(['superseded', 'hibernated', 'ended']), session: sessionRow }),
  z.object({ outcome: z.literal('not_found') }),
]);

const released = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['released', 'superseded', 'ended']), session: sessionRow }),
  z.object({ outcome: z.literal('not_found') }),
]);

const left = z
  .object({ turn: z.int(), retry_after_ms: z.int(), wait_ms: z.int() })
  .transform(({ turn, retry_after_ms, wait_ms }) => ({ turn, retryAfterMs: retry_after_ms, waitMs: wait_ms }))
  .nullable();

const yieldingLease = z.object({ id: z.uuid(), hibernates: z.boolean() });

const ended = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.enum(['ended', 'already_ended']),
    session: sessionRow,
    served: z.boolean(),
    runner: runnerRow.nullish().transform(row => row ?? null),
  }),
  z.object({ outcome: z.literal('superseded'), session: sessionRow }),
  z.object({ outcome: z.literal('not_found') }),
]);

/** `renewals`: connections that keep leases and claims alive. */
export function sqlLeases(database: Database, rules: LeaseRules, renewals = database): Leases {
  const claimArguments = ({ sessionId, epoch, claimId }: Claim) => ({
    p_session: sessionId,
    p_epoch: epoch,
    p_claim: claimId,
  });
  return {
    async acquire({ request, ...acquisition }) {
      const { record_video, credentials, toolset, snapshot, keep_pages, tags, hibernate = rules.hibernate } = request;
      const { keep_files = rules.keepFiles, policy_presets: presets = rules.policyPresets ?? [] } = request;
      const { profile: name, profile_mode: mode, profile_form: form, profile_tabs: tabs } = request;
      const options: RunnerOptions = {
        record_video,
        ...(!credentials && { credentials }),
        ...(toolset && { toolset }),
        ...(snapshot && { snapshot }),
        ...(keep_pages && { keep_pages }),
        ...(keep_files !== 'none' && { keep_files }),
        ...(hibernate !== 'never' && { hibernate }),
        ...pageOptions.parse(request),
      };
      // null: none, where a hibernated session would keep its own
      const profile = name === undefined ? {} : { profile: name && { name, mode, form, ...(tabs && { tabs }) } };
      return acquired.parse(
        await callFunction(database, 'acquire', {
          p_user: request.user_id,
          p_conversation: request.conversation_id,
          p_claim: acquisition.claimId,
          p_abandon: acquisition.abandonClaimId,
          p_ttl_seconds: request.ttl_seconds,
          p_max_session_seconds: rules.maxSessionSeconds,
          p_options: JSON.stringify({
            ...options,
            ...profile,
            ...(presets.length > 0 && { policy: withPresets(null, presets).policy }),
          }),
          p_tags: tags === undefined ? null : JSON.stringify(tags),
          p_provider: acquisition.provider,
          p_template: acquisition.template,
          p_namespace: acquisition.namespace,
          p_user_limit: rules.userLimit,
          p_on_user_limit: rules.onUserLimit,
          p_claim_seconds: rules.claimSeconds,
          p_start_seconds: rules.startSeconds,
          p_switch_profile: request.profile_switch,
          p_unhibernated: acquisition.unhibernated,
          p_waits: acquisition.waits,
        }),
      );
    },
    async turns(provider, template, places) {
      const held = { p_provider: provider, p_template: template, p_places: places };
      return z.array(z.int().transform(String)).parse(await callRows(database, 'line_turns', held));
    },
    leaveLine: async (place, returns) =>
      left.parse(await callFunction(database, 'leave_line', { p_place: place, p_returns: returns })),
    beat: claimBeats(renewals, rules),
    beginAssignment: async claim =>
      runnerRow.nullable().parse(await callFunction(database, 'begin_assignment', claimArguments(claim))),
    async makeReady(claim, { mcpUrl, workload, prefix }) {
      const ready = { p_mcp_url: mcpUrl, p_workload: workload, p_prefix: prefix };
      return sessionRow
        .nullable()
        .parse(await callFunction(database, 'make_ready', { ...claimArguments(claim), ...ready }));
    },
    async fail(claim, reason, error) {
      const why = { p_reason: reason, p_error: error };
      return z.boolean().parse(await callFunction(database, 'fail_claim', { ...claimArguments(claim), ...why }));
    },
    heartbeat: async (sessionId, userId, epoch) =>
      renewed.parse(
        await callFunction(renewals, 'heartbeat', { p_session: sessionId, p_user: userId, p_epoch: epoch }),
      ),
    async end(sessionId, userId, epoch, reason, drainSeconds = null) {
      const lease = { p_session: sessionId, p_user: userId, p_epoch: epoch };
      const how = { p_reason: reason, p_work_seconds: drainSeconds };
      return ended.parse(await callFunction(database, 'end_lease', { ...lease, ...how }));
    },
    release: async (sessionId, userId, epoch) =>
      released.parse(
        await callFunction(database, 'release_lease', { p_session: sessionId, p_user: userId, p_epoch: epoch }),
      ),
    async yielding(provider, template, most) {
      const chosen = { p_provider: provider, p_template: template, p_most: most };
      return z.array(yieldingLease).parse(await callRows(database, 'yield_leases', chosen));
    },
    endReleased: async sessionId =>
      z.boolean().parse(await callFunction(database, 'end_released', { p_session: sessionId })),
    mayAct: async (sessionId, epoch) =>
      z.boolean().parse(await callFunction(database, 'may_act', { p_session: sessionId, p_epoch: epoch })),
  };
}
