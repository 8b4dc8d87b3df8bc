import * as z from 'zod';
import { ENV } from '../contract/names.ts';

const seconds = (fallback: number, min: number, max: number) => z.coerce.number().min(min).max(max).default(fallback);
const count = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

/** The controller's settings, by environment variable. Defaults are those of production. */
export const settings = z.object({
  OMICRON_HOST: z.string().default('0.0.0.0'),
  OMICRON_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  OMICRON_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Names the environment in the recordings' prefix. */
  OMICRON_ENV: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/)
    .default('local'),
  /** Postgres, direct or through a transaction pooler. */
  [ENV.databaseUrl]: z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL'),
  OMICRON_DATABASE_CONNECTIONS: count(10, 1, 200),
  OMICRON_DATA_DIR: z.string().default('.omicron'),

  /** HS256 secret shared with the API, at least 32 bytes. */
  [ENV.serviceSecret]: z.string().refine(text => Buffer.byteLength(text) >= 32, 'must have at least 32 bytes'),
  /** HS256 secret shared with the egress proxy alone, at least 32 bytes. */
  [ENV.egressSecret]: z.string().refine(text => Buffer.byteLength(text) >= 32, 'must have at least 32 bytes'),
  /** Ed25519 private key, JWK as JSON. */
  [ENV.signingKey]: z.string(),
  /** Base64 of at least 32 random bytes. */
  [ENV.derivationKey]: z
    .base64()
    .refine(text => Buffer.from(text, 'base64').length >= 32, 'must be base64 of at least 32 bytes'),

  /** Where runners live: processes of this machine, or pods of the cluster that this process runs in. */
  OMICRON_PROVIDER: z.enum(['local', 'kubernetes']).default('local'),

  OMICRON_SECRET_STORE: z.enum(['file', 'vault-sql', 'vault-rest']).default('vault-sql'),
  /** Base64 of the 32 bytes that seal the vault file; for `file` only. */
  OMICRON_SECRET_FILE_KEY: z.base64().optional(),
  SUPABASE_URL: z.url().optional(),
  SUPABASE_SERVICE_ROLE_KEY: z.string().optional(),

  /** The egress proxy as runners reach it, e.g. `http://egress-proxy:3128`. Without it browsers have no way out but the network's. */
  [ENV.egressUrl]: z.url({ protocol: /^http$/ }).optional(),

  /**
   * Where recordings are kept: `s3://<bucket>` for pods, whose uploaders write there under their own role; else a folder of
   * this machine, under the data folder unless a `file:` URL names another.
   */
  [ENV.artifactStore]: z
    .url({ protocol: /^(file|s3)$/, error: 'must be s3://<bucket> or a file: URL of a folder' })
    .optional(),
  /**
   * All that uploaders may reach through the egress proxy, comma-separated: the addresses of the bucket and of STS, e.g.
   * `https://<bucket>.s3.<region>.amazonaws.com,https://sts.amazonaws.com`.
   */
  OMICRON_ARTIFACT_ENDPOINTS: z
    .string()
    .default('')
    .transform(text => text.split(/[\s,]+/).filter(item => item !== ''))
    .pipe(z.array(z.url({ protocol: /^https?$/, error: 'must be http or https URLs, joined by commas' }))),

  OMICRON_USER_LIMIT: count(3, 1, 10_000),
  OMICRON_ON_USER_LIMIT: z.enum(['reject', 'evict_oldest']).default('reject'),
  OMICRON_CAPACITY: count(120, 1, 100_000),
  OMICRON_POOL_IDLE: count(2, 0, 1_000),
  OMICRON_POOL_BURST: count(4, 1, 100),
  OMICRON_MAX_SESSION_MINUTES: seconds(480, 0.05, 7 * 24 * 60),
  /**
   * In a folder, recordings older than this are deleted. In a bucket its lifecycle deletes them (infra: `artifacts.retentionDays`,
   * which must be the same number); the controller has no right to, and only writes down that they are expired.
   */
  OMICRON_ARTIFACTS_RETENTION_DAYS: count(7, 1, 3_650),
  /** Between two rounds of the reaper (O18: 30 to 60 s in production). */
  OMICRON_REAP_SECONDS: seconds(30, 0.05, 600),
  OMICRON_CLAIM_SECONDS: seconds(15, 1, 120),
  OMICRON_START_SECONDS: seconds(120, 2, 600),
});
export type Settings = z.infer<typeof settings>;

/** Parses the environment. Throws one line per variable that is missing or wrong; never quotes a value. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = settings.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(
    issue =>
      `${issue.path.join('.')}: ${issue.path[0] && given[String(issue.path[0])] === undefined ? 'is not set' : issue.message}`,
  );
  throw new Error(`The controller cannot start:\n${lines.join('\n')}`);
}
