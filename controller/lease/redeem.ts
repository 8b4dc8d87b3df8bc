import { setImmediate } from 'node:timers/promises';
import type { RedeemAnswer, RedemptionClaims } from '../../contract/assignment.ts';
import { leaseKey } from '../../contract/lease-key.ts';
import type { KnownSites } from '../../contract/policy/well-known-sites.ts';
import { OmicronError } from '../../contract/problem.ts';
import { secretsOf, urlTargets, type VaultDocument } from '../../contract/secrets.ts';
import { egressCredential, uploadCredential } from '../../contract/tokens.ts';
import type { SecretStore } from '../ports/secrets.ts';
import type { Broker } from '../store/broker.ts';
import { type Keys, reportTokens } from './assignment-tokens.ts';
import type { AwaitedRedemptions } from './awaited-redemptions.ts';

const PREDECESSOR_RETRY_SECONDS = 1;
const NO_CREDENTIALS: VaultDocument = { credentials: {}, unusable: {} };

export interface RedeemParts {
  keys: Keys;
  broker: Broker;
  secrets: SecretStore;
  redemptions: AwaitedRedemptions;
  knownSites: KnownSites;
}

/**
 * O4: the secrets of one lease and the tokens to act for it, once; again only with the same `key`. Throws `predecessor_draining` while the
 * runner of the previous epoch may still act, and `redemption_refused` when the claim is over, redeemed already or another's.
 */
export async function redeemLease(
  { keys, broker, secrets, redemptions, knownSites }: RedeemParts,
  claims: RedemptionClaims,
  tokenExpiresMs: number,
  key?: string,
): Promise<RedeemAnswer> {
  // Read before the redemption: a store that fails for a moment must not cost the runner.
  const document = (claims.options.credentials !== false && (await secrets.read(claims.user_id))) || NO_CREDENTIALS;
  const handedOut = secretsOf(document);
  const awaited = redemptions.of(claims.claim_id);
  awaited?.begun();
  const redeemed = await broker.redeem(claims, tokenExpiresMs, { key, ready: awaited?.lease });
  if (redeemed.outcome === 'wait')
    throw new OmicronError('predecessor_draining', 'The previous runner may still act; try again.', {
      retryAfterSeconds: PREDECESSOR_RETRY_SECONDS,
    });
  if (redeemed.outcome === 'refused') throw redemptionRefused(redeemed.why);
  if (redeemed.userId !== claims.user_id) throw redemptionRefused('other user');
  if (redeemed.session) {
    awaited?.done(redeemed.session);
    await setImmediate(); // the caller is answered first
  }
  const lease = leaseKey.parse(claims);
  return {
    secrets: handedOut,
    ...sitesOf(document, knownSites),
    egress_credential: egressCredential(keys.derivation, lease),
    upload_credential: uploadCredential(keys.derivation, lease),
    policy: redeemed.policy,
    ...reportTokens(keys, lease, redeemed),
    remaining_ms: redeemed.remainingMs,
    restores: redeemed.restores,
    hibernates: claims.options.hibernate !== undefined,
  };
}

/** Sites with a login, and those with a client certificate. */
function sitesOf(
  { credentials }: VaultDocument,
  knownSites: KnownSites,
): Pick<RedeemAnswer, 'sites' | 'client_certificates'> {
  const all = Object.entries(credentials).map(([site, credential]) => {
    const places = { site, targets: urlTargets(credential), known: knownSites(site)?.slice() };
    return { credential, places };
  });
  return {
    sites: all.flatMap(({ credential: { username, totp }, places }) =>
      username === undefined ? [] : [{ ...places, totp: totp !== undefined }],
    ),
    client_certificates: all.flatMap(({ credential: { client_certificate: certificate }, places }) =>
      certificate === undefined ? [] : [{ ...places, certificate }],
    ),
  };
}

const redemptionRefused = (why: string) =>
  new OmicronError('redemption_refused', `The lease cannot be redeemed: ${why}.`);
