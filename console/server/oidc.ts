import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import * as z from 'zod';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type ClaimNames, personOf } from './people.ts';
import type { SignedInPerson } from './sign-ins.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly claims: ClaimNames;
  /** The console's own. */
  readonly url: URL;
}

/** State of a sign-in between leaving for the provider and coming back. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  /** PKCE (RFC 7636): the code is worth nothing without it. */
  readonly verifier: string;
}

/** An OpenID Connect provider: code flow with PKCE. */
export interface IdentityProvider {
  /** Address to which the person's browser goes to sign in. Throws `issuer_unavailable`. */
  begin(): Promise<{ readonly to: string; readonly begun: PendingSignIn }>;
  /** Whom the provider sent back with this query. Throws `unauthorized`, `forbidden`, `issuer_unavailable`. */
  finish(query: string, begun: PendingSignIn): Promise<SignedInPerson>;
  /** The person whose sessions a logout token ends (OpenID Connect Back-Channel Logout 1.0). Throws `unauthorized`. */
  loggedOut(logoutToken: string): Promise<(person: SignedInPerson) => boolean>;
}

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const logoutClaims = z.object({
  events: z.object({ [LOGOUT_EVENT]: z.looseObject({}) }),
  sub: z.string().optional(),
  sid: z.string().optional(),
  nonce: z.never().optional(), // an ID token has one
});

/** The provider is asked for its discovery document when the first person signs in. */
export function identityProvider(options: OidcOptions): IdentityProvider {
  const { issuer, clientId, clientSecret, scopes, claims, url } = options;
  const redirectUri = new URL(CONSOLE_ROUTES.oidcCallback, url).href;
  let found: Promise<oidc.Configuration> | undefined;

  async function configuration(): Promise<oidc.Configuration> {
    const insecure = new URL(issuer).protocol === 'http:' ? { execute: [oidc.allowInsecureRequests] } : undefined; // a test's, on loopback
    found ??= oidc.discovery(new URL(issuer), clientId, clientSecret, undefined, insecure);
    try {
      return await found;
    } catch (cause) {
      found = undefined;
      throw new OmicronError('issuer_unavailable', 'The identity provider does not answer; try again.', { cause });
    }
  }

  return {
    async begin() {
      const verifier = oidc.randomPKCECodeVerifier();
      const begun = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier };
      const to = oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: scopes,
        state: begun.state,
        nonce: begun.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { to: to.href, begun };
    },
    async finish(query, { state, nonce, verifier }) {
      const at = new URL(redirectUri);
      at.search = query;
      try {
        const tokens = await oidc.authorizationCodeGrant(await configuration(), at, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return personOf(tokens.claims() ?? {}, claims);
      } catch (cause) {
        if (cause instanceof OmicronError) throw cause;
        throw new OmicronError('unauthorized', 'The identity provider did not sign you in. Try again.', { cause });
      }
    },
    async loggedOut(logoutToken) {
      const { jwks_uri } = (await configuration()).serverMetadata();
      try {
        const { payload } = await jwtVerify(logoutToken, createRemoteJWKSet(new URL(jwks_uri ?? '')), {
          issuer,
          audience: clientId,
          requiredClaims: ['iat', 'jti'],
          maxTokenAge: '2m',
        });
        const { sub, sid } = logoutClaims.parse(payload);
        return person =>
          person.issuer === issuer && (sid === undefined ? person.subject === sub : person.providerSession === sid);
      } catch (cause) {
        throw new OmicronError('unauthorized', 'The logout token was refused.', { cause });
      }
    },
  };
}
