import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { OmicronError } from '../../contract/problem.ts';
import { type ClaimNames, personOf } from './people.ts';
import type { VouchForToken } from './sign-in-routes.ts';

export interface PlatformTokens {
  /** As the tokens name it, e.g. `https://<project>.supabase.co/auth/v1`. */
  readonly issuer: string;
  readonly audience: string;
  /** The HS256 secret of a project that has no key pair; otherwise the issuer's `/.well-known/jwks.json` has the keys. */
  readonly secret: Uint8Array | undefined;
  readonly claims: ClaimNames;
}

/** Key pairs alone: with a shared secret, the public key of the issuer would sign (RFC 8725, section 2.1). */
const KEY_PAIRS = ['ES256', 'RS256', 'EdDSA'];

/** Takes the access tokens with which people are signed in to the platform (Supabase Auth). */
export function platformTokens({ issuer, audience, secret, claims }: PlatformTokens): VouchForToken {
  const keys: JWTVerifyGetKey =
    secret === undefined ? createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)) : async () => secret;
  return async accessToken => {
    try {
      const { payload } = await jwtVerify(accessToken, keys, {
        issuer,
        audience,
        requiredClaims: ['exp', 'sub'],
        algorithms: secret === undefined ? KEY_PAIRS : ['HS256'],
      });
      return personOf(payload, claims);
    } catch (cause) {
      if (cause instanceof OmicronError) throw cause;
      if (cause instanceof errors.JWKSTimeout || !(cause instanceof errors.JOSEError))
        throw new OmicronError(
          'issuer_unavailable',
          'The keys of the identity provider cannot be read now; try again.',
          { cause },
        );
      throw new OmicronError('unauthorized', 'Your sign-in to the platform was not accepted; sign in there again.', {
        cause,
      });
    }
  };
}
