/** Constants of the console without schemas: its pages import them. */

/** Routes of the console's server that are its own; all others under `/api` are the controller's. */
export const CONSOLE_ROUTES = {
  /** `GET`: the ways to sign in. `POST {token}` signs in with a link, `POST {access_token}` with a token of the platform; `DELETE` signs out. */
  signIn: '/api/sign-in',
  /** `POST {access_token}`: whose token of the platform it is. Signs no one in: a stranger's link has a stranger's token. */
  account: '/api/sign-in/account',
  /** `GET` leads to the identity provider, and from it back to `oidcCallback`. */
  oidc: '/api/sign-in/oidc',
  oidcCallback: '/api/sign-in/oidc/callback',
  /** `POST` by the identity provider: OpenID Connect Back-Channel Logout. */
  oidcLogout: '/api/sign-in/oidc/logout',
  /** `GET`: who is signed in. */
  me: '/api/me',
  /** `POST` with a service token (audience `console-links`) makes a link. */
  links: '/api/links',
} as const;

/**
 * Rights of a person; each role includes those before it: a viewer sees their own sessions; an operator acts in them; an admin
 * has everyone's, and the policies.
 */
export const CONSOLE_ROLES = ['viewer', 'operator', 'admin'] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

/** Whether a role may do what needs another one. */
export const mayAs = (role: ConsoleRole, needed: ConsoleRole): boolean =>
  CONSOLE_ROLES.indexOf(role) >= CONSOLE_ROLES.indexOf(needed);

/** The ways to sign in that a console offers. */
export const SIGN_IN_WAYS = ['link', 'oidc', 'platform'] as const;
export interface SignInWays {
  readonly ways: readonly (typeof SIGN_IN_WAYS)[number][];
}

/** The person who is signed in. */
export interface Me {
  readonly name: string;
  readonly role: ConsoleRole;
  /** The user whose sessions they have; null: everyone's. */
  readonly user_id: string | null;
}
