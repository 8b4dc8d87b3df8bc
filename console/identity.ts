import type { Identity } from './server/console.ts';
import { identityProvider } from './server/oidc.ts';
import type { ClaimNames } from './server/people.ts';
import { platformTokens } from './server/platform-tokens.ts';
import type { ConsoleSettings } from './settings.ts';

/** The providers of identities that the settings name. */
export function signInBy(settings: ConsoleSettings): Identity {
  const claims: ClaimNames = {
    user: settings.userClaim,
    role: settings.roleClaim,
    roles: { viewer: settings.viewerRole, operator: settings.operatorRole, admin: settings.adminRole },
    roleWithout: settings.roleWithout === 'none' ? null : settings.roleWithout,
  };
  const { oidcIssuer, oidcClientId = '', oidcClientSecret = '', platformIssuer, platformSecret } = settings;
  return {
    ...(oidcIssuer && {
      provider: identityProvider({
        issuer: oidcIssuer,
        clientId: oidcClientId,
        clientSecret: oidcClientSecret,
        scopes: settings.oidcScopes,
        claims,
        url: new URL(settings.url),
      }),
    }),
    ...(platformIssuer && {
      vouchForToken: platformTokens({
        issuer: platformIssuer,
        audience: settings.platformAudience,
        claims,
        secret: platformSecret === undefined ? undefined : new TextEncoder().encode(platformSecret),
      }),
    }),
  };
}
