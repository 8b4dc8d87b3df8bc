import type { Environment } from '../environment-type.ts';
import { MARKED } from './symbols.ts';

/** A choice of the environment that changes what is rendered, besides the values in it. */
export interface Variant {
  /** How the values show it: no value, `false` or an empty list at the path, zero, or one value of several. */
  readonly when:
    | { readonly without: string }
    | { readonly zero: string }
    | { readonly path: string; readonly is: string };
  readonly env: Environment;
}

/** The path's value taken away, or another in its place. */
function changed(path: string, value?: unknown): Environment {
  const copy: Record<string, unknown> = structuredClone(MARKED) as never; // a plain object of plain values
  const names = path.split('.');
  const last = names.pop() ?? '';
  let at = copy;
  for (const name of names) at = at[name] as Record<string, unknown>; // paths of MARKED
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy as never;
}

const without = (path: string, value?: unknown): Variant => ({ when: { without: path }, env: changed(path, value) });
const zero = (path: string): Variant => ({ when: { zero: path }, env: changed(path, 0) });
const is = (path: string, value: string): Variant => ({ when: { path, is: value }, env: changed(path, value) });

/** Every choice, each taken alone: what two of them change together is not seen, so that `chart.test.ts` draws many at once. */
export const VARIANTS: readonly Variant[] = [
  is('apiNamespace', 'existing'),
  is('secretStore', 'vault-sql'),
  is('secretStore', 'vault-rest'),
  without('controllerReachesPublicHttps', false),
  without('privateSites.peers', []),
  ...['database.tls', 'database.ca', 'roles', 'vault', 'monitoringNamespace'].map(path => without(path)),
  ...['collector', 'collector.traceRatio'].map(path => without(path)),
  ...['s3', 'sts'].map(name => without(`artifacts.endpoints.${name}`)),
  ...['signedImages', 'signedImages.registryProvider'].map(path => without(path)),
  without('artifacts.webIdentityRole'),
  without('profiles.keyArn'),
  without('profiles.hibernation'),
  without('gateway'),
  ...['audience', 'userClaim', 'toolset', 'liveUrl'].map(name => without(`gateway.${name}`)),
  without('console'),
  ...['oidc', 'platform', 'identityProvider', 'embedOrigins'].map(name => without(`console.${name}`)),
  ...['className', 'tlsSecret'].map(name => without(`console.ingress.${name}`)),
  ...['user', 'role', 'roleWithout'].map(name => without(`console.claims.${name}`)),
  ...['keepPages', 'keepFiles', 'insecureLoginOrigins', 'mcpOrigins', 'architecture', 'runtimeClassName'].map(name =>
    without(`runner.${name}`),
  ),
  zero('spareRunners'),
  zero('limits.poolIdle'),
];
