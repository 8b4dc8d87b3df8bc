import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import { type RedeemAnswer, type Toolset, type totpAnswer, totpRequest } from '../../contract/assignment.ts';
import { leaseKey } from '../../contract/lease-key.ts';
import { AUDIENCES } from '../../contract/names.ts';
import type { EffectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError, PROBLEM_TYPE, PROBLEMS } from '../../contract/problem.ts';
import {
  type ArtifactReport,
  type activityAnswer,
  activityReport,
  artifactReport,
  eventReport,
  type RunnerEvent,
} from '../../contract/reports.ts';
import {
  brokerClaims,
  controllerKeys,
  mcpToken,
  sha256Hex,
  signControllerToken,
  signingKey,
  verifyControllerToken,
} from '../../contract/tokens.ts';
import { type UserAction, userActionRequest } from '../../contract/user-action.ts';

/** A stand-in for the controller: one lease, the wire checked with the contract's own functions. */
export interface StandIn {
  readonly url: string;
  readonly jwks: string;
  readonly activity: { calls: number; atMs: number }[];
  readonly events: RunnerEvent[];
  readonly artifacts: ArtifactReport[];
  /** Redemptions that were answered. */
  redemptions: number;
  /** Milliseconds that a redemption took here, last one. */
  redeemMs: number;
  /** What the runner is told is left. */
  remainingMs: number;
  secrets: Record<string, string>;
  sites: RedeemAnswer['sites'];
  egressCredential: string;
  uploadCredential: string;
  /** In force from now on: the next activity report tells its version. */
  policy: EffectivePolicy;
  totp: z.infer<typeof totpAnswer>;
  /** What agents asked of their person. Change a status to answer. */
  readonly userActions: UserAction[];
  /** Answers the next requests of this path with these errors. */
  failNext(path: string, ...errors: OmicronError[]): void;
  /** From now on every connection is dropped: the network is cut. */
  partition(): void;
  heal(): void;
  assignment(runner: { runnerId: string; bootId: string }, options?: Partial<Order>): Promise<Assigned>;
  drainOrder(runner: { runnerId: string; bootId: string }): Promise<string>;
  close(): Promise<void>;
}

interface Order {
  recordVideo: boolean;
  toolset: Toolset;
  audience: string;
  jti: string;
  signWith: 'controller' | 'stranger';
}

export interface Assigned {
  readonly token: string;
  readonly mcpToken: string;
  readonly sessionId: string;
  readonly jti: string;
}

const newKey = () => signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));

export async function startStandIn(): Promise<StandIn> {
  const key = await newKey();
  const stranger = await newKey();
  const jwks = JSON.stringify({ keys: [key.publicJwk] });
  const keys = controllerKeys(jwks);
  const failures = new Map<string, OmicronError[]>();
  const derivation = Buffer.from(randomUUID());
  const spent = new Set<string>();
  let cut = false;
  const sign = (audience: string | string[], claims: object, by = key) =>
    signControllerToken(by, audience, { ...claims }, { nowMs: Date.now(), seconds: 60 });

  const routes: Record<string, (token: string, body: unknown) => Promise<unknown>> = {
    async '/internal/runner-secrets'(token) {
      const { claims } = await verifyControllerToken(keys, AUDIENCES.broker, token, brokerClaims);
      if (spent.has(claims.claim_id)) throw new OmicronError('redemption_refused', 'already redeemed');
      spent.add(claims.claim_id);
      standIn.redemptions += 1;
      return {
        secrets: standIn.secrets,
        lease_token: await sign(AUDIENCES.lease, claims),
        artifact_token: await sign(AUDIENCES.artifacts, claims),
        remaining_ms: standIn.remainingMs,
        sites: standIn.sites,
        egress_credential: standIn.egressCredential,
        upload_credential: standIn.uploadCredential,
        policy: standIn.policy,
      } satisfies RedeemAnswer;
    },
    async '/internal/runner-activity'(token, body) {
      await verifyControllerToken(keys, AUDIENCES.lease, token, leaseKey);
      standIn.activity.push({ calls: activityReport.parse(body).calls, atMs: performance.now() });
      return { remaining_ms: standIn.remainingMs, policy_version: standIn.policy.version } satisfies z.infer<
        typeof activityAnswer
      >;
    },
    async '/internal/runner-policy'(token) {
      await verifyControllerToken(keys, AUDIENCES.lease, token, leaseKey);
      return standIn.policy;
    },
    async '/internal/runner-totp'(token, body) {
      await verifyControllerToken(keys, AUDIENCES.lease, token, leaseKey);
      const { site } = totpRequest.parse(body);
      if (!standIn.sites.some(each => each.site === site && each.totp))
        throw new OmicronError('credential_not_found', site);
      return standIn.totp;
    },
    async '/internal/runner-user-actions'(token, body) {
      const { claims } = await verifyControllerToken(keys, AUDIENCES.lease, token, leaseKey);
      const { id, reason, timeout_seconds } = userActionRequest.parse(body);
      const known = standIn.userActions.find(action => action.id === id);
      if (known !== undefined) return known;
      const now = Date.now();
      const asked: UserAction = {
        ...{ id, reason, session_id: claims.session_id, epoch: claims.epoch, status: 'pending', note: null },
        created_at: new Date(now).toISOString(),
        expires_at: new Date(now + timeout_seconds * 1_000).toISOString(),
        answered_at: null,
      };
      standIn.userActions.push(asked);
      return asked;
    },
    async '/internal/runner-events'(token, body) {
      await verifyControllerToken(keys, AUDIENCES.lease, token, leaseKey).catch(() =>
        verifyControllerToken(keys, AUDIENCES.artifacts, token, leaseKey),
      );
      for (const event of eventReport.parse(body).events)
        if (!standIn.events.some(({ id }) => id === event.id)) standIn.events.push(event);
      return {};
    },
    async '/internal/runner-artifacts'(token, body) {
      await verifyControllerToken(keys, AUDIENCES.artifacts, token, leaseKey);
      standIn.artifacts.push(artifactReport.parse(body));
      return {};
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const startMs = performance.now();
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const failure = failures.get(path)?.shift();
      if (failure !== undefined) throw failure;
      const route = routes[path];
      if (route === undefined || request.method !== (path === '/internal/runner-policy' ? 'GET' : 'POST'))
        throw new OmicronError('route_not_found', path);
      const token = (request.headers.authorization ?? '').replace('Bearer ', '');
      const answer = await route(token, JSON.parse(Buffer.concat(chunks).toString() || 'null'));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    } catch (error) {
      const problem = (
        error instanceof OmicronError ? error : new OmicronError('invalid_request', String(error))
      ).toProblem();
      response.writeHead(PROBLEMS[problem.code].status, { 'content-type': PROBLEM_TYPE }).end(JSON.stringify(problem));
    }
    if (path === '/internal/runner-secrets') standIn.redeemMs = performance.now() - startMs;
  }

  const server = createServer((request, response) => {
    if (cut) request.socket.destroy();
    else void serve(request, response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has one

  const standIn: StandIn = {
    url: `http://127.0.0.1:${port}`,
    jwks,
    activity: [],
    events: [],
    artifacts: [],
    redemptions: 0,
    redeemMs: 0,
    remainingMs: 600_000,
    sites: [{ site: 'shop', totp: false }],
    egressCredential: 'egress credential',
    uploadCredential: 'upload credential',
    policy: { version: '1', layers: [] },
    totp: { code: '000000', valid_ms: 30_000 },
    userActions: [],
    secrets: { SHOP_USERNAME: 'alice@example.com', SHOP_PASSWORD: 'correct horse "battery" & staple' },
    failNext(path, ...errors) {
      failures.set(path, [...(failures.get(path) ?? []), ...errors]);
    },
    partition() {
      cut = true;
      server.closeAllConnections();
    },
    heal() {
      cut = false;
    },
    async assignment({ runnerId, bootId }, options = {}) {
      const lease = { session_id: randomUUID(), epoch: 1, runner_id: runnerId };
      const claim = { claim_id: randomUUID(), boot_id: bootId, user_id: 'ada' };
      const token = mcpToken(derivation, lease);
      const jti = options.jti ?? randomUUID();
      const claims = {
        ...lease,
        ...claim,
        jti,
        options: {
          record_video: options.recordVideo ?? false,
          ...(options.toolset === undefined ? {} : { toolset: options.toolset }),
        },
        mcp_token_sha256: sha256Hex(token),
        artifacts_prefix: `pw-videos/test/${lease.session_id}/1-${runnerId}/`,
      };
      const audience = [options.audience ?? AUDIENCES.runner(runnerId, bootId), AUDIENCES.broker];
      return {
        token: await sign(audience, claims, options.signWith === 'stranger' ? stranger : key),
        mcpToken: token,
        sessionId: lease.session_id,
        jti,
      };
    },
    drainOrder: ({ runnerId, bootId }) =>
      sign(AUDIENCES.runner(runnerId, bootId), { order: 'drain', reason: 'the session was deleted' }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return standIn;
}
