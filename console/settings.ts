import * as z from 'zod';
import { CONSOLE_ROLES } from '../contract/console.ts';
import { ENV, PORTS } from '../contract/names.ts';
import {
  choice,
  type Fault,
  httpUrl,
  parseEnvironment,
  portSchema,
  type SettingsOf,
  sharedSecret,
  wordsSchema,
} from '../process/environment.ts';

const text = (fallback: string) => z.string().default(fallback);

/** The settings of the console on a cluster. */
export const CONSOLE_SETTINGS = {
  /** Where people open it; its origin is the only one that it answers under. */
  url: [ENV.consoleUrl, httpUrl()],
  host: [ENV.consoleHost, text('0.0.0.0')],
  port: [ENV.consolePort, portSchema().default(PORTS.console)],
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  serviceSecret: [ENV.serviceSecret, sharedSecret()],
  ffmpeg: [ENV.ffmpegPath, z.string().optional()],
  embedOrigins: [ENV.consoleEmbedOrigins, wordsSchema()],
  oidcIssuer: [ENV.consoleOidcIssuer, httpUrl().optional()],
  oidcClientId: [ENV.consoleOidcClientId, z.string().optional()],
  oidcClientSecret: [ENV.consoleOidcClientSecret, z.string().optional()],
  oidcScopes: [ENV.consoleOidcScopes, text('openid email')],
  /** Issuer of the platform's own tokens, e.g. `https://<project>.supabase.co/auth/v1`. */
  platformIssuer: [ENV.consolePlatformIssuer, httpUrl().optional()],
  platformAudience: [ENV.consolePlatformAudience, text('authenticated')],
  platformSecret: [ENV.consolePlatformSecret, sharedSecret().optional()],
  userClaim: [ENV.consoleUserClaim, text('sub')],
  roleClaim: [ENV.consoleRoleClaim, text('roles')],
  viewerRole: [ENV.consoleViewerRole, text('omicron-viewer')],
  operatorRole: [ENV.consoleOperatorRole, text('omicron-operator')],
  adminRole: [ENV.consoleAdminRole, text('omicron-admin')],
  /** `none`: people without a role may not sign in. */
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
