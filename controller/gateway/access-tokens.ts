import type { AuthInfo, OAuthTokenVerifier } from '@modelcontextprotocol/server';
import { OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { foreignId } from '../../contract/session.ts';
import type { Clock } from '../../time/clock.ts';
import { isPrivateWay } from './private-way.ts';

export interface AccessTokenRules {
  /** As the issuer writes itself into `iss`; its discovery document names its keys. */
  readonly issuer: string;
  /** The value that `aud` must hold. */
  readonly audience: string;
  /** The claim that names the user. */
  readonly userClaim: string;
}

/** Signatures by a key pair alone: with a shared secret the issuer's public key would sign (RFC 8725, section 2.1). */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_SKEW_SECONDS = 5;
const DISCOVERY_MS = 5_000;
/** An issuer that did not answer is asked again after this time, however many tokens come. */
const DISCOVERY_PAUSE_MS = 5_000;

const discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

/**
 * Verifies the access tokens of the deployment's OIDC issuer (RFC 9068). The answer has the user as `clientId`, and not
 * the token. Throws OAuthError `invalid_token` for a token that is refused, and `issuer_unavailable` when the issuer's
 * keys cannot be read.
 */
export function accessTokens(rules: AccessTokenRules, clock: Clock): OAuthTokenVerifier {
  const { issuer, audience, userClaim } = rules;
  const keys = issuerKeys(issuer, clock);
  return {
    async verifyAccessToken(token) {
      const payload = await verifyToken(token, await keys(), { issuer, audience });
      const user = foreignId.safeParse(payload[userClaim]);
      if (!user.success) throw tokenRefused(`it names no user (claim ${userClaim})`);
      return authInfo(user.data, payload);
    },
  };
}

async function verifyToken(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, audience }: { issuer: string; audience: string },
) {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['exp'],
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw tokenRefused('it has expired');
    if (error instanceof errors.JWTClaimValidationFailed) throw tokenRefused(`its claim ${error.claim} does not fit`);
    if (REFUSALS.some(refusal => error instanceof refusal)) throw tokenRefused('it is not signed by the issuer');
    throw issuerUnavailable(error);
  }
}

/** Errors of jose for a token; all else is about the keys. */
const REFUSALS = [
  ...[errors.JWSInvalid, errors.JWTInvalid, errors.JWSSignatureVerificationFailed],
  ...[errors.JOSEAlgNotAllowed, errors.JOSENotSupported, errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys],
];

/** `scope` (RFC 8693), or `scp` as some issuers write it. */
const scopesOf = ({ scope, scp }: JWTPayload): string[] =>
  [scope, scp].flat().flatMap(each => (typeof each === 'string' ? each.split(' ') : []));

const authInfo = (user: string, payload: JWTPayload): AuthInfo => ({
  token: '',
  clientId: user,
  scopes: scopesOf(payload),
  ...(payload.exp === undefined ? {} : { expiresAt: payload.exp }),
});

/** `why` goes into `WWW-Authenticate`: without quotes (RFC 6750, section 3). */
const tokenRefused = (why: string): OAuthError =>
  new OAuthError(OAuthErrorCode.InvalidToken, `The access token is refused: ${why}.`);

const issuerUnavailable = (cause: unknown): OmicronError =>
  new OmicronError('issuer_unavailable', 'The keys of the issuer of access tokens cannot be read; try again.', {
    retryAfterSeconds: DISCOVERY_PAUSE_MS / 1000,
    cause,
  });

/** The issuer's keys, found by its discovery document when the first token comes (OpenID Connect Discovery, section 4). */
function issuerKeys(issuer: string, clock: Clock): () => Promise<JWTVerifyGetKey> {
  let known: Promise<JWTVerifyGetKey> | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  const discover = async (): Promise<JWTVerifyGetKey> => {
    try {
      const answer = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
        redirect: 'error',
        signal: AbortSignal.timeout(DISCOVERY_MS),
      });
      if (!answer.ok) throw new Error(`the discovery document was answered with ${answer.status}`);
      const found = discovery.parse(await answer.json());
      if (found.issuer !== issuer) throw new Error('the discovery document is of another issuer');
      if (!isPrivateWay(new URL(found.jwks_uri))) throw new Error('the keys are not at an https URL');
      return createRemoteJWKSet(new URL(found.jwks_uri));
    } catch (error) {
      failedAtMs = clock.nowMs();
      known = undefined;
      throw issuerUnavailable(error);
    }
  };
  return () => {
    if (known === undefined && clock.nowMs() - failedAtMs < DISCOVERY_PAUSE_MS)
      throw issuerUnavailable(new Error('the discovery document could not be read a moment ago'));
    known ??= discover();
    return known;
  };
}
