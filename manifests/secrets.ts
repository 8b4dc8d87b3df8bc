import { ENV, NAMESPACES } from '../contract/names.ts';

/** A Secret or ConfigMap that the operator makes; what is rendered only names it. */
interface OperatorMade {
  readonly namespace: string;
  readonly name: string;
  /** Keys, by the setting that each of them is. */
  readonly keys: readonly string[];
}

/**
 * Every Secret of a deployment, by who reads it. `make-secrets.ts` makes them from generated values, External Secrets
 * from a store (docs/rollout.md). None is in the runners' namespace: who may create pods there could read it.
 */
export const SECRETS = {
  controller: {
    namespace: NAMESPACES.system,
    name: 'browser-session-controller',
    keys: [
      ENV.databaseUrl, // postgres://, direct or through a transaction pooler
      ENV.serviceSecret, // HS256, at least 32 bytes; the API has it too
      ENV.egressSecret, // HS256, at least 32 bytes; the egress proxy has it too
      ENV.signingKey, // Ed25519 private key, JWK as JSON
      ENV.derivationKey, // base64 of at least 32 random bytes
    ],
  },
  egress: { namespace: NAMESPACES.system, name: 'egress-proxy', keys: [ENV.egressSecret] },
  console: { namespace: NAMESPACES.system, name: 'browser-console', keys: [ENV.serviceSecret] },
  /** For the platform's API, which signs its calls with it (O5). */
  api: { namespace: NAMESPACES.api, name: 'browser-session-client', keys: [ENV.serviceSecret] },
} as const satisfies Record<string, OperatorMade>;

/** Set besides in the controller's Secret, by its secret store. */
export const STORE_KEYS = {
  'vault-sql': [],
  'vault-rest': [ENV.supabaseUrl, ENV.supabaseServiceRoleKey],
  'vault-kv': [ENV.vaultUrl, ENV.vaultMount, ENV.vaultToken],
} as const;

/** Headers of what is sent to a collector, such as a key; the Secret of each program may have it. */
export const COLLECTOR_HEADERS = 'OTEL_EXPORTER_OTLP_HEADERS';

/** Every setting that a Secret holds; some hold it only where it is needed. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  ...Object.values(SECRETS).flatMap(({ keys }) => [...keys]),
  ...Object.values(STORE_KEYS).flat(),
  ENV.profileKey,
  ENV.consoleOidcClientSecret,
  ENV.consolePlatformSecret,
  COLLECTOR_HEADERS,
]);

/** The public half of the signing key. Not secret; made with it, for it must fit. */
export const PUBLIC_KEYS = {
  namespace: NAMESPACES.runners,
  name: 'controller-public-keys',
  keys: ['jwks.json'],
} as const satisfies OperatorMade;
