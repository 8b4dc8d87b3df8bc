import * as z from 'zod';
import { keepFiles } from './files.ts';
import { HIBERNATE } from './hibernation.ts';
import { epoch, runnerId, sessionId } from './lease-key.ts';
import { KEEP_PAGES } from './page-names.ts';
import { pageOptions } from './page-options.ts';
import { credentialTarget } from './policy/credential-target.ts';
import { effectivePolicy } from './policy/document.ts';
import { leaseProfile, profileCheckRequest } from './profile.ts';
import { clientCertificate, siteKey } from './secrets.ts';
import { RUNNER_PHASES } from './states.ts';
import { brokerClaims } from './tokens.ts';

/** Playwright MCP's tools, those of them that most tasks need, the compatible ones (A2, P1), or both; `docs/tools.md` has the table. */
export const TOOLSETS = ['playwright', 'core', 'compat', 'both'] as const;
export type Toolset = (typeof TOOLSETS)[number];

/**
 * The part of a page that results of acting tools show: what changed since the snapshot before, all of it, nothing, or
 * Playwright MCP's own snapshot.
 */
export const SNAPSHOTS = ['changes', 'full', 'none', 'playwright'] as const;
export type Snapshot = (typeof SNAPSHOTS)[number];

/** Options of a lease for its runner; of those that are left out, the deployment's apply. */
export const runnerOptions = z.object({
  record_video: z.boolean(),
  /** False: the runner gets no credential, and the secret store is not read for it. */
  credentials: z.boolean().optional(),
  toolset: z.enum(TOOLSETS).optional(),
  snapshot: z.enum(SNAPSHOTS).optional(),
  keep_pages: z.enum(KEEP_PAGES).optional(),
  /** For the controller, which removes the other files at the session's end. Left out: none. */
  keep_files: keepFiles.optional(),
  profile: leaseProfile.optional(),
  /** Left out: never. */
  hibernate: z.enum(HIBERNATE).exclude(['never']).optional(),
  ...pageOptions.shape,
});
export type RunnerOptions = z.infer<typeof runnerOptions>;

/**
 * Claims of the assignment, which gives a warm runner its lease (EdDSA; audiences: this boot of this runner, and the
 * broker, to which the runner presents it once at `POST /internal/runner-secrets`). The same assignment (same `jti`)
 * gets the same answer; any other is refused. A runner does not check `exp`: its clock may be wrong, and the broker
 * checks it by the database's.
 */
export const assignmentClaims = brokerClaims.extend({
  jti: z.uuid(),
  options: runnerOptions,
  /** SHA-256, hex, of the bearer token that `/mcp` accepts. */
  mcp_token_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Prefix of the recording under the artifact store's root. */
  artifacts_prefix: z.string(),
});
export type Assignment = z.infer<typeof assignmentClaims>;

/** The part of an assignment that the broker reads. */
export const redemptionClaims = brokerClaims.extend({
  options: runnerOptions.pick({ credentials: true, hibernate: true }),
});
export type RedemptionClaims = z.infer<typeof redemptionClaims>;

/** Body of `POST /assign`, `POST /drain`, `POST /save-profile`, `POST /check-login` and `POST /hibernate`: a token signed by the controller. */
export const signedToken = z
  .strictObject({
    token: z.string().max(16_384).describe('Order, signed by the controller (EdDSA) for this boot of this runner.'),
  })
  .meta({ id: 'SignedOrder' });

/** Claims of the drain token (EdDSA, the runner's audience of the assignment). */
export const drainClaims = z.object({ order: z.literal('drain'), reason: z.string() });

/** Claims of the order to save the lease's profile now (EdDSA, the runner's audience of the assignment). */
export const saveProfileClaims = z.object({ order: z.literal('save_profile') });

/** Claims of the order to look whether the lease's profile is logged in (EdDSA, the same audience). */
export const checkLoginClaims = z.object({ order: z.literal('check_login'), page: profileCheckRequest });

const bootId = z.uuid().describe('Id of this start of the process.');

export const assignAnswer = z
  .object({ runner_id: runnerId, boot_id: bootId, session_id: sessionId, epoch })
  .meta({ id: 'AssignAnswer' });
export type AssignAnswer = z.infer<typeof assignAnswer>;

/** The runner serves no agent any more; it finishes its recording and exits. */
export const drainAnswer = z
  .object({ acknowledged: z.literal(true).describe('The lease has ended for its agents.') })
  .meta({ id: 'DrainAnswer' });

/** One of the two health checks of S5: is the process running, and does it answer the protocol. */
const gate = z.object({
  ok: z.boolean().describe('Whether the check passed.'),
  detail: z.string().describe('Finding of the check.'),
});

/** Answer of `GET /healthz`: 200 when the browser itself answered, else 503. Contains no secret. */
export const runnerHealth = z
  .object({
    runner_id: runnerId,
    boot_id: bootId,
    phase: z.enum(RUNNER_PHASES).describe('Phase of the process.'),
    browser: z
      .object({
        process: gate.describe('Whether the process of the browser runs.'),
        protocol: gate.describe('Whether the browser answers.'),
      })
      .describe('Checks of the browser.'),
    log: z.array(z.string()).optional().describe("Last lines of the browser's own output, when a check fails."),
    error: z
      .object({
        code: z.string().describe('Code of the problem.'),
        detail: z.string().describe('Explanation of the problem.'),
      })
      .optional()
      .describe('Reason of the phase `failed`.'),
  })
  .meta({ id: 'RunnerHealth' });
export type RunnerHealth = z.infer<typeof runnerHealth>;

/** Body of `POST /internal/runner-totp` (lease token), and its answer: the current code (B3). */
export const totpRequest = z
  .strictObject({ site: siteKey.describe('Site key of the credential.') })
  .meta({ id: 'TotpRequest' });
export const totpAnswer = z
  .object({
    code: z.string().describe('Current TOTP code.'),
    valid_ms: z.int().describe('Milliseconds for which the code is valid.'),
  })
  .meta({ id: 'TotpAnswer' });
export type TotpAnswer = z.infer<typeof totpAnswer>;

/** Answer to a redemption (O4): the secrets of one lease, and what its runner needs to act for it. */
export const redeemAnswer = z
  .object({
    secrets: z
      .record(z.string(), z.string())
      .describe("`<SITE>_USERNAME` and `<SITE>_PASSWORD`, as Playwright MCP's `--secrets` takes them."),
    sites: z
      .array(
        z.object({
          site: siteKey.describe('Site key of the credential.'),
          totp: z.boolean().describe('Whether TOTP codes are available.'),
          targets: z
            .array(credentialTarget)
            .optional()
            .describe("Places where the credential's own url lets it be filled; absent: it has none."),
          known: z
            .array(credentialTarget)
            .optional()
            .describe("Places where the deployment's map lets it be filled while nothing else names the key."),
        }),
      )
      .describe('Sites whose credential is among the secrets.'),
    client_certificates: z
      .array(
        z.object({
          site: siteKey.describe('Site key of the credential.'),
          targets: z
            .array(credentialTarget)
            .optional()
            .describe("Places of the credential's own url; absent: it has none."),
          known: z
            .array(credentialTarget)
            .optional()
            .describe("Places of the deployment's map while nothing else names the key."),
          certificate: clientCertificate.describe('Certificate and key.'),
        }),
      )
      .optional()
      .describe('Client certificates of the user; the browser shows each to its own site alone.'),
    egress_credential: z.string().describe("The browser's credential at the egress proxy."),
    policy: effectivePolicy.describe('Policy of the lease.'),
    lease_token: z.string().describe('Bearer token for activity and events; valid until the epoch ends.'),
    artifact_token: z.string().describe('Bearer token for reporting artifacts; valid for a day after the lease.'),
    upload_credential: z
      .string()
      .optional()
      .describe(
        "The uploader's credential at the egress proxy, for the upload order. Absent where uploads do not pass the proxy.",
      ),
    remaining_ms: z.int().describe('Milliseconds until the lease ends, counted from before the request was sent.'),
    restores: z
      .boolean()
      .optional()
      .describe('The session was hibernated: its runner restores the snapshot before it serves.'),
    hibernates: z.boolean().optional().describe('The runner hibernates the session when its machine goes away.'),
  })
  .meta({ id: 'RedeemAnswer' });
export type RedeemAnswer = z.infer<typeof redeemAnswer>;
