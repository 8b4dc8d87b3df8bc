import * as z from 'zod';
import { CONSOLE_ROLES } from '../contract/console.ts';
import { ENV, PORTS } from '../contract/names.ts';
import {
  choice,
  type Fault,
  httpUrl,
  originsSchema,
  parseEnvironment,
  portSchema,
  type SettingsOf,
  sharedSecret,
} from '../process/environment.ts';

const text = (fallback: string) => z.string().default(fallback);

/** The settings of the console on a cluster. */
export const CONSOLE_SETTINGS = {
  /** The console as people open it, e.g. `https://console.example.com/`; it answers under this origin only. */
  url: [ENV.consoleUrl, httpUrl()],
  /** Address on which it listens. */
  host: [ENV.consoleHost, text('0.0.0.0')],
  /** Port on which it listens. */
  port: [ENV.consolePort, portSchema().default(PORTS.console)],
  /** Address of its metrics. */
  adminHost: [ENV.consoleAdminHost, text('0.0.0.0')],
  /** Port of its metrics. */
  adminPort: [ENV.consoleAdminPort, portSchema().default(PORTS.consoleAdmin)],
  /** The controller as the console reaches it. */
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  /** The controller's service secret. */
  serviceSecret: [ENV.serviceSecret, sharedSecret()],
  /** An ffmpeg with libx264, which makes MP4s of videos; without it they stay WebM. */
  ffmpeg: [ENV.ffmpegPath, z.string().optional()],
  /** Origins of pages that may show a preview in a frame, joined by commas, e.g. `https://chat.example.com`. */
  embedOrigins: [ENV.consoleEmbedOrigins, originsSchema()],
  /** OpenID Connect issuer that signs people in. */
  oidcIssuer: [ENV.consoleOidcIssuer, httpUrl().optional()],
  /** Client id of the console at that issuer. */
  oidcClientId: [ENV.consoleOidcClientId, z.string().optional()],
  /** Client secret of the console at that issuer. */
  oidcClientSecret: [ENV.consoleOidcClientSecret, z.string().optional()],
  /** Scopes that it asks for. */
  oidcScopes: [ENV.consoleOidcScopes, text('openid email')],
  /**
   * Issuer of the platform's own access tokens, which sign people in too, e.g.
   * `https://<project>.supabase.co/auth/v1`.
   */
  platformIssuer: [ENV.consolePlatformIssuer, httpUrl().optional()],
  /** The `aud` of those tokens. */
  platformAudience: [ENV.consolePlatformAudience, text('authenticated')],
  /** HS256 secret of those tokens; without it they are checked by the keys that the issuer publishes. */
  platformSecret: [ENV.consolePlatformSecret, sharedSecret().optional()],
  /** Claim that has the id of the user; a claim within a claim is written with a dot. */
  userClaim: [ENV.consoleUserClaim, text('sub')],
  /** Claim that has the roles of the person. */
  roleClaim: [ENV.consoleRoleClaim, text('roles')],
  /** Role that makes a person a viewer. */
  viewerRole: [ENV.consoleViewerRole, text('omicron-viewer')],
  /** Role that makes a person an operator. */
  operatorRole: [ENV.consoleOperatorRole, text('omicron-operator')],
  /** Role that makes a person an admin. */
  adminRole: [ENV.consoleAdminRole, text('omicron-admin')],
  /** Role of a person whose token has none of these; `none`: they may not sign in. */
  roleWithout: [ENV.consoleRoleWithout, choice('none', ...CONSOLE_ROLES).default('none')],
} as const;

export type ConsoleSettings = SettingsOf<typeof CONSOLE_SETTINGS>;

/** Reads the console's environment. Throws EnvironmentError. */
export const parseConsoleSettings = (environment: Readonly<Record<string, unknown>>): ConsoleSettings =>
  parseEnvironment('console', CONSOLE_SETTINGS, environment, faultsOf);

function faultsOf({ url, oidcIssuer, oidcClientId, oidcClientSecret, platformIssuer }: ConsoleSettings): Fault[] {
  const faults: Fault[] = [];
  if (oidcIssuer === undefined && platformIssuer === undefined)
    faults.push([ENV.consoleOidcIssuer, `or ${ENV.consolePlatformIssuer} must be set: nobody could sign in`]);
  if (oidcIssuer !== undefined && (oidcClientId === undefined || oidcClientSecret === undefined))
    faults.push([
      ENV.consoleOidcClientId,
      `and ${ENV.consoleOidcClientSecret} must be set with ${ENV.consoleOidcIssuer}`,
    ]);
  for (const [name, value] of [
    [ENV.consoleUrl, url],
    [ENV.consoleOidcIssuer, oidcIssuer],
    [ENV.consolePlatformIssuer, platformIssuer],
  ] as const)
    if (value !== undefined && !isPrivateWay(new URL(value))) faults.push([name, 'must be an https URL']);
  return faults;
}

/** Http stays on this machine only. */
const isPrivateWay = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || hostname === 'localhost' || /^127\./.test(hostname);
