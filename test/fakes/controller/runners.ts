import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import type * as z from 'zod';
import {
  type Assignment,
  type RedeemAnswer,
  type Snapshot,
  type Toolset,
  type totpAnswer,
  totpRequest,
} from '../../../contract/assignment.ts';
import { leaseKey } from '../../../contract/lease-key.ts';
import type { LiveRole, LiveTokenClaims } from '../../../contract/live.ts';
import { AUDIENCES } from '../../../contract/names.ts';
import type { KeepPages } from '../../../contract/page-names.ts';
import type { PageOptions } from '../../../contract/page-options.ts';
import type { EffectivePolicy } from '../../../contract/policy/document.ts';
import { OmicronError } from '../../../contract/problem.ts';
import {
  type ArtifactReport,
  type activityAnswer,
  activityReport,
  artifactReport,
  eventReport,
  type RunnerEvent,
  type SpanReport,
  spanReport,
} from '../../../contract/reports.ts';
import {
  brokerClaims,
  controllerKeys,
  mcpToken,
  sha256Hex,
  signControllerToken,
  signingKey,
  verifyControllerToken,
} from '../../../contract/tokens.ts';
import { type AskedUserAction, credentialQuestion, userActionRequest } from '../../../contract/user-action.ts';
import { type Answer, json, type Route } from './answer.ts';

/** Routes of runners, and the tokens that a controller sends them. One lease, or several that get the same. */
export interface FakeRunnerRoutes {
  readonly jwks: string;
  readonly activity: { calls: number; atMs: number }[];
  /** Those of the timeline that runners reported, each once. */
  readonly events: RunnerEvent[];
  readonly artifacts: ArtifactReport[];
  /** Spans that a runner sent here, as to a collector. */
  readonly spans: SpanReport['resourceSpans'][number]['scopeSpans'][number]['spans'];
  /** Redemptions that were answered. */
  redemptions: number;
  /** The remaining time that the runner is given. */
  remainingMs: number;
  /** For how long the platform holds the lease. */
  heldMs: number;
  secrets: Record<string, string>;
  sites: RedeemAnswer['sites'];
  egressCredential: string;
  uploadCredential: string;
  /** In force from now on: the next activity report gives its version. */
  policy: EffectivePolicy;
  totp: z.infer<typeof totpAnswer>;
  /** Requests of agents to their user. Change a status to answer. */
  readonly userActions: AskedUserAction[];
  /** The console's; runners learn where the person answers. */
  consoleUrl: string | undefined;
  assignment(runner: RunnerBoot, options?: AssignmentOptions): Promise<Assigned>;
  /** A viewer's token for the lease that was assigned last. */
  liveToken(runner: RunnerBoot, options?: LiveTokenOptions): Promise<string>;
  /** The token of `/files`. */
  filesOrder(runner: RunnerBoot): Promise<string>;
  /** A short-lived MCP token for the lease that was assigned last, or for another epoch of it. */
  mcpToken(
    runner: RunnerBoot,
    options?: { seconds?: number; epoch?: number; signWith?: 'controller' | 'stranger' },
  ): string;
  /** The token of `POST /drain`. */
  drainOrder(runner: RunnerBoot): Promise<string>;
}

export interface RunnerBoot {
  readonly runnerId: string;
  readonly bootId: string;
}

export interface AssignmentOptions {
  recordVideo?: boolean;
  toolset?: Toolset;
  snapshot?: Snapshot;
  keepPages?: KeepPages;
  page?: PageOptions;
  audience?: string;
  jti?: string;
  signWith?: 'controller' | 'stranger';
}

export interface LiveTokenOptions {
  role?: LiveRole;
  viewer?: string;
  epoch?: number;
  /** Seconds of its validity. */
  seconds?: number;
  signWith?: 'controller' | 'stranger';
}

export interface Assigned {
  readonly token: string;
  readonly mcpToken: string;
  readonly sessionId: string;
  readonly jti: string;
}

const newKey = () => signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));
const nothing: Answer = { status: 204 };

/** `routes` reads the state that it is given: the tests change it. */
export async function fakeRunnerRoutes() {
  const key = newKey();
  const stranger = newKey();
  const jwks = JSON.stringify({ keys: [key.publicJwk] });
  const keys = controllerKeys(jwks);
  const derivation = randomBytes(32);
  /** Claims, with the key of their redemption. */
  const redeemed = new Map<string, string | undefined>();
  let sessionId = '';
  const sign = (audience: string | string[], claims: object, by = key) =>
    signControllerToken(by, audience, { ...claims }, { nowMs: Date.now(), seconds: 60 });

  const state: FakeRunnerRoutes = {
    jwks,
    activity: [],
    events: [],
    artifacts: [],
    spans: [],
    redemptions: 0,
    remainingMs: 600_000,
    heldMs: 0,
    secrets: { SHOP_USERNAME: 'alice@example.com', SHOP_PASSWORD: 'correct horse "battery" & staple' },
    sites: [{ site: 'shop', totp: false }],
    egressCredential: 'egress credential',
    uploadCredential: 'upload credential',
    policy: { version: '1', layers: [] },
    totp: { code: '000000', valid_ms: 30_000 },
    userActions: [],
    consoleUrl: undefined,
    async assignment({ runnerId, bootId }, options = {}) {
      const lease = { session_id: randomUUID(), epoch: 1, runner_id: runnerId };
      sessionId = lease.session_id;
      const token = mcpToken(derivation, lease);
      const {
        audience,
        recordVideo = false,
        toolset,
        snapshot,
        keepPages,
        page,
        jti = randomUUID(),
        signWith,
      } = options;
      const claims: Assignment = {
        ...lease,
        claim_id: randomUUID(),
        boot_id: bootId,
        user_id: 'ada',
        jti,
        options: { record_video: recordVideo, toolset, snapshot, keep_pages: keepPages, ...page },
        mcp_token_sha256: sha256Hex(token),
        artifacts_prefix: `pw-videos/test/${lease.session_id}/1-${runnerId}/`,
      };
      const audiences = [audience ?? AUDIENCES.runner(runnerId, bootId), AUDIENCES.broker];
      return {
        token: sign(audiences, claims, signWith === 'stranger' ? stranger : key),
        mcpToken: token,
        sessionId: lease.session_id,
        jti,
      };
    },
    async liveToken(
      { runnerId, bootId },
      { role = 'control', viewer = 'ada', epoch = 1, seconds = 60, signWith } = {},
    ) {
      const claims: LiveTokenClaims = { jti: randomUUID(), session_id: sessionId, epoch, role, viewer };
      const by = signWith === 'stranger' ? stranger : key;
      return signControllerToken(by, AUDIENCES.live(runnerId, bootId), { ...claims }, { nowMs: Date.now(), seconds });
    },
    filesOrder: async ({ runnerId, bootId }) => sign(AUDIENCES.runner(runnerId, bootId), { order: 'files' }),
    mcpToken({ runnerId }, { seconds = 60, epoch = 1, signWith } = {}) {
      const claims = { session_id: sessionId, epoch, runner_id: runnerId };
      const by = signWith === 'stranger' ? stranger : key;
      return signControllerToken(by, AUDIENCES.mcp(runnerId), claims, { nowMs: Date.now(), seconds });
    },
    drainOrder: async ({ runnerId, bootId }) =>
      sign(AUDIENCES.runner(runnerId, bootId), { order: 'drain', reason: 'the session was deleted' }),
  };

  const leaseOf = async (token: string, ...audiences: string[]) =>
    (await verifyControllerToken(keys, audiences, token, leaseKey)).claims;

  type Call = (token: string, body: unknown, idempotencyKey: string | undefined) => Promise<Answer>;
  const routes = (now: FakeRunnerRoutes): Record<string, Call> => ({
    async 'POST /internal/runner-secrets'(token, _body, key) {
      const { claims } = await verifyControllerToken(keys, AUDIENCES.broker, token, brokerClaims);
      if (redeemed.has(claims.claim_id) && (key === undefined || redeemed.get(claims.claim_id) !== key))
        throw new OmicronError('redemption_refused', 'already redeemed');
      redeemed.set(claims.claim_id, key);
      now.redemptions += 1;
      return json(200, {
        secrets: now.secrets,
        lease_token: await sign(AUDIENCES.lease, claims),
        artifact_token: await sign(AUDIENCES.artifacts, claims),
        remaining_ms: now.remainingMs,
        sites: now.sites,
        egress_credential: now.egressCredential,
        upload_credential: now.uploadCredential,
        policy: now.policy,
      } satisfies RedeemAnswer);
    },
    async 'POST /internal/runner-activity'(token, body) {
      await leaseOf(token, AUDIENCES.lease);
      now.activity.push({ calls: activityReport.parse(body).calls, atMs: performance.now() });
      return json(200, {
        remaining_ms: now.remainingMs,
        policy_version: now.policy.version,
        held_ms: now.heldMs,
      } satisfies z.infer<typeof activityAnswer>);
    },
    async 'GET /internal/runner-policy'(token) {
      await leaseOf(token, AUDIENCES.lease);
      return json(200, now.policy);
    },
    async 'POST /internal/runner-totp'(token, body) {
      await leaseOf(token, AUDIENCES.lease);
      const { site } = totpRequest.parse(body);
      if (!now.sites.some(each => each.site === site && each.totp))
        throw new OmicronError('credential_not_found', site);
      return json(200, now.totp);
    },
    async 'POST /internal/runner-user-actions'(token, body) {
      const { session_id, epoch } = await leaseOf(token, AUDIENCES.lease);
      const { id, timeout_seconds, credential: about, ...given } = userActionRequest.parse(body);
      const { reason, credential } = about
        ? credentialQuestion(about.site, about.origin)
        : { reason: given.reason, credential: null };
      const known = now.userActions.find(action => action.id === id);
      if (known) return json(200, known);
      const askedMs = Date.now();
      const action: AskedUserAction = {
        ...{ id, reason, credential, session_id, epoch, status: 'pending', note: null },
        created_at: new Date(askedMs).toISOString(),
        expires_at: new Date(askedMs + timeout_seconds * 1_000).toISOString(),
        answered_at: null,
        answered_by: null,
        ...(now.consoleUrl && { url: `${now.consoleUrl}/sessions/${session_id}` }),
      };
      now.userActions.push(action);
      return json(200, action);
    },
    async 'POST /internal/runner-events'(token, body) {
      await leaseOf(token, AUDIENCES.lease, AUDIENCES.artifacts);
      for (const event of eventReport.parse(body).events)
        if (!now.events.some(({ id }) => id === event.id)) now.events.push(event);
      return nothing;
    },
    async 'POST /internal/runner-artifacts'(token, body) {
      await leaseOf(token, AUDIENCES.artifacts);
      now.artifacts.push(artifactReport.parse(body));
      return nothing;
    },
    async 'POST /internal/runner-traces'(token, body) {
      await leaseOf(token, AUDIENCES.artifacts);
      const { resourceSpans } = spanReport.parse(body);
      now.spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
      return json(200, {});
    },
  });

  const route =
    (now: FakeRunnerRoutes): Route =>
    async ({ method, path, token, idempotencyKey, body }) =>
      routes(now)[`${method} ${path}`]?.(token, body, idempotencyKey);
  return { state, route };
}
