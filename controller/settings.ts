import { X509Certificate } from 'node:crypto';
import * as z from 'zod';
import { TOOLSETS } from '../contract/assignment.ts';
import { KEEP_FILES } from '../contract/files.ts';
import { HIBERNATE } from '../contract/hibernation.ts';
import { ENV, RUNNER_NAME_PREFIX } from '../contract/names.ts';
import { credentialRules } from '../contract/policy/credentials.ts';
import { PRESET_NAMES, presetNames } from '../contract/policy/presets.ts';
import { cidrsSchema } from '../egress/cidrs.ts';
import {
  choice,
  decimal,
  derivedSetting,
  type Fault,
  integer,
  parseEnvironment,
  portSchema,
  type SettingsOf,
  sharedSecret,
  wordsSchema,
} from '../process/environment.ts';
import { isPrivateWay } from './gateway/private-way.ts';
import { checkedSupabaseUrl } from './secrets/supabase-url.ts';
import { postgresConnection } from './store/postgres-connection.ts';

/** Certificates in PEM; the first is parsed to distinguish them from other text. */
const certificatesSchema = () =>
  derivedSetting('certificates in PEM', text => {
    new X509Certificate(text);
    return text;
  });

/** Whether a connection to another host needs TLS with a verified certificate. */
const tls = () => choice('verify', 'off').default('verify');

/** A URL to which tokens and keys may be entrusted. */
const privateUrl = () => z.string().refine(isPrivateUrl, { error: 'must be an https URL' });
const isPrivateUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && isPrivateWay(url);
};
const GATEWAY_PATH = { error: 'must have the path /mcp' };

/** The controller's settings. Defaults are those of production. */
export const CONTROLLER_SETTINGS = {
  /** Address on which it listens. */
  host: [ENV.controllerHost, z.string().default('0.0.0.0')],
  /** Port on which it listens: API, broker, gateway and metrics. */
  port: [ENV.controllerPort, portSchema().default(8080)],
  /**
   * The controller as clients reach it where they do not reach its runners, as in a container: it passes their MCP
   * on. For `local` only.
   */
  publicUrl: [
    ENV.publicUrl,
    z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .transform(url => new URL(url).origin)
      .optional(),
  ],
  /** The least severe log lines that are written. */
  logLevel: [ENV.logLevel, choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info')],
  /** The environment: a part of the prefix of its recordings. */
  environmentName: [
    ENV.environmentName,
    z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -')
      .default('local'),
  ],
  /** Postgres, direct or through a transaction pooler. */
  databaseUrl: [ENV.databaseUrl, z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')],
  /** `off`: a Postgres on another host may be reached without TLS, where the network itself is trusted. */
  databaseTls: [ENV.databaseTls, tls()],
  /** Authorities that sign Postgres's certificate, in PEM; by default those of Node.js. */
  databaseCa: [ENV.databaseCa, certificatesSchema().optional()],
  /** Connections to Postgres that one replica keeps at most, beside 4 for heartbeats and reports. */
  databaseConnections: [ENV.databaseConnections, integer(1, 200).default(10)],
  /** Folder of what this machine keeps: credentials, recordings and profiles, unless other settings name a store. */
  dataDir: [ENV.dataDir, z.string().default('.omicron')],

  /** HS256 secret shared with the platform: it signs the service tokens of API calls. */
  serviceSecret: [ENV.serviceSecret, sharedSecret()],
  /** HS256 secret shared with the egress proxy alone. */
  egressSecret: [ENV.egressSecret, sharedSecret()],
  /** Ed25519 private key, a JWK as JSON: it signs assignments and the tokens of runners. The same on every replica. */
  signingKey: [ENV.signingKey, z.string()],
  /**
   * Base64 of at least 32 random bytes, from which the credentials of a lease are derived. The same on every
   * replica.
   */
  derivationKey: [
    ENV.derivationKey,
    z.base64({ error: 'must be base64' }).refine(text => Buffer.from(text, 'base64').length >= 32, {
      error: 'must be base64 of at least 32 bytes',
    }),
  ],

  /**
   * The place of runners: processes of this machine, with browsers of their own (`local`) or of the service Kernel
   * (`kernel`), or pods of the cluster that the controller runs in.
   */
  provider: [ENV.provider, choice('local', 'kernel', 'kubernetes').default('local')],
  /** The API of Kernel, or of a service with the same API. For `kernel` only. */
  kernelUrl: [ENV.kernelUrl, privateUrl().default('https://api.onkernel.com')],
  /** The key to that API. For `kernel` only. */
  kernelApiKey: [
    ENV.kernelApiKey,
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must be one line of visible characters')
      .optional(),
  ],

  /**
   * MiB that a runner of the local provider, its browser and its encoders may take together. More than the browser's
   * own limit, which closes tabs; here the lease ends.
   */
  localRunnerMemoryMb: [ENV.localRunnerMemoryMb, integer(1_024, 1_048_576).default(4_096)],

  /**
   * The store of site credentials: an encrypted file, Supabase Vault over the database or over REST, or HashiCorp
   * Vault.
   */
  secretStore: [ENV.secretStore, choice('file', 'vault-sql', 'vault-rest', 'vault-kv').default('vault-sql')],
  /** `on`: credentials under the keys of well-known sites (`walmart`) are filled there, unless a url or a policy says otherwise. */
  wellKnownSites: [
    ENV.wellKnownSites,
    choice('on', 'off')
      .default('off')
      .transform(text => text === 'on'),
  ],
  /** The deployment's own map of site keys to places, as JSON: `{"intranet": ["https://portal.example.com"]}`. It wins over the well-known sites. */
  credentialSites: [
    ENV.credentialSites,
    derivedSetting('a JSON object of site keys to lists of domains or https origins', text =>
      credentialRules.parse(JSON.parse(text)),
    ).default({}),
  ],
  /** Base64 of the 32 bytes that seal the credentials' file; for `file` only. */
  secretFileKey: [ENV.secretFileKey, z.base64({ error: 'must be base64' }).optional()],
  /** The Supabase project. For `vault-rest` only. */
  supabaseUrl: [ENV.supabaseUrl, z.url({ protocol: /^https?$/, error: 'must be an https URL' }).optional()],
  /** `off`: a Supabase on another host may be reached by http, where the network itself is trusted. */
  supabaseTls: [ENV.supabaseTls, tls()],
  /** The service role key of that project. For `vault-rest` only. */
  supabaseServiceRoleKey: [ENV.supabaseServiceRoleKey, z.string().optional()],
  /** HashiCorp Vault. For `vault-kv` only. */
  vaultUrl: [ENV.vaultUrl, privateUrl().optional()],
  /** The path at which its KV version 2 is mounted. For `vault-kv` only. */
  vaultMount: [
    ENV.vaultMount,
    z
      .string()
      .regex(/^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/, 'must be a path such as secret')
      .default('secret'),
  ],
  /** A token that may create, read and update there. For `vault-kv` only. */
  vaultToken: [
    ENV.vaultToken,
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must be one line of visible characters')
      .optional(),
  ],

  /**
   * The egress proxy as runners reach it, e.g. `http://egress-proxy:3128`. Without it browsers reach what
   * the network allows.
   */
  egressUrl: [ENV.egressUrl, z.url({ protocol: /^http$/, error: 'must be an http URL' }).optional()],

  /**
   * The store of recordings: `s3://<bucket>` for pods, whose uploaders write there under their own role; else a
   * folder of this machine, under the data folder unless a `file:` URL names another.
   */
  artifactStore: [
    ENV.artifactStore,
    z.url({ protocol: /^(file|s3)$/, error: 'must be s3://<bucket> or a file: URL of a folder' }).optional(),
  ],
  /**
   * All that uploaders may reach through the egress proxy: the addresses of the bucket and of STS, e.g.
   * `https://<bucket>.s3.<region>.amazonaws.com,https://sts.amazonaws.com`.
   */
  artifactEndpoints: [
    ENV.artifactEndpoints,
    wordsSchema().pipe(z.array(z.url({ protocol: /^https?$/, error: 'must be http or https URLs, joined by commas' }))),
  ],

  /**
   * The store of profiles: `s3://<bucket>`, or a folder that all replicas share; by default a folder below the data
   * folder on one machine, and none on Kubernetes.
   */
  profileStore: [
    ENV.profileStore,
    z.url({ protocol: /^(file|s3)$/, error: 'must be s3://<bucket> or a file: URL of a folder' }).optional(),
  ],
  /** Region of the buckets. A controller without it checks no bucket. */
  awsRegion: [ENV.awsRegion, z.string().min(1).optional()],
  /** An S3 server other than AWS's. */
  awsS3Endpoint: [ENV.awsS3Endpoint, z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional()],
  /** Base64 of the 32 bytes that wrap the profile keys of users; by default the key of the credentials' file. */
  profileKey: [
    ENV.profileKey,
    z
      .base64({ error: 'must be base64' })
      .refine(text => Buffer.from(text, 'base64').length >= 32, { error: 'must be base64 of at least 32 bytes' })
      .optional(),
  ],
  /** ARN of the KMS key that wraps them instead. */
  profileKmsKey: [
    ENV.profileKmsKey,
    z
      .string()
      .regex(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:(key|alias)\/.+$/, 'must be the ARN of a KMS key')
      .optional(),
  ],
  /** MiB that all profiles of one user, with their versions, may take in the store. */
  profileQuotaMb: [ENV.profileQuotaMb, integer(1, 1_048_576).default(2_048)],
  /** Days after which a profile that no lease has used is deleted. */
  profileRetentionDays: [ENV.profileRetentionDays, integer(1, 36_500).default(365)],

  /** Presets of policies, joined by commas, for sessions whose request does not name its own: `ssrf,https-only`. */
  policyPresets: [
    ENV.policyPresets,
    derivedSetting(`presets joined by commas: ${PRESET_NAMES.join(', ')}`, text =>
      presetNames.parse(text.split(',')),
    ).default([]),
  ],
  /** Uploads and downloads that stay after their session where its request does not say, as long as videos. */
  keepFiles: [ENV.keepFiles, choice(...KEEP_FILES).default('none')],
  /** Moments at which sessions are hibernated whose request does not say: `never`, when the `node` goes, or at `expiry` too. */
  hibernate: [ENV.hibernate, choice(...HIBERNATE).default('never')],
  /** Hours for which a hibernated session is kept; then it ends as `expired`. */
  hibernatedHours: [ENV.hibernatedHours, decimal(0.0001, 8_760).default(72)],

  /** Internal ranges that webhooks may reach all the same, by http too: the platform beside the controller. */
  webhookAllowedCidrs: [ENV.webhookAllowedCidrs, cidrsSchema()],
  /** Ranges that webhooks may not reach besides the private ones, as the egress proxy has them for browsers. */
  deniedCidrs: [ENV.egressDeniedCidrs, cidrsSchema()],

  /** Sessions that a user may have at once. */
  userLimit: [ENV.userLimit, integer(1, 10_000).default(3)],
  /** The answer to one more where none was released: `reject` refuses it (429), `evict_oldest` hibernates or ends the oldest one. */
  onUserLimit: [ENV.onUserLimit, choice('reject', 'evict_oldest').default('reject')],
  /** Runners that may exist at once, warm ones included. */
  capacity: [ENV.capacity, integer(1, 100_000).default(120)],
  /** Warm runners that wait for leases, at least. */
  poolIdle: [ENV.poolIdle, integer(0, 1_000).default(2)],
  /**
   * Warm runners at most: between the two, as many as leases start in the time in which a runner does, and half as many again. Unset:
   * always as many as `OMICRON_POOL_IDLE`.
   */
  poolIdleMax: [ENV.poolIdleMax, integer(0, 10_000).optional()],
  /** Runners that may start at once, those that a lease waits for included. */
  poolBurst: [ENV.poolBurst, integer(1, 100).default(4)],
  /**
   * Runners that one replica launches at once: 64 on Kubernetes, else 8, since one machine starts them all. Further ones wait for their
   * turn; a runner's time to start counts from its launch.
   */
  launchesMax: [ENV.launchesMax, integer(1, 1_000).optional()],
  /** Runners that one replica leads to their end at once. */
  drainsMax: [ENV.drainsMax, integer(1, 1_000).default(128)],
  /**
   * Seconds for which the MCP token of a lease is valid: each get-or-create and heartbeat answers with a new one,
   * and earlier ones work until they expire. Unset: a lease has one token, for as long as it lives.
   */
  mcpTokenSeconds: [ENV.mcpTokenSeconds, integer(30, 604_800).optional()],
  /** Maximum age of a lease, however much it is used. */
  maxSessionMinutes: [ENV.maxSessionMinutes, decimal(0.05, 7 * 24 * 60).default(480)],
  /**
   * Days for which videos and files are kept. In a folder the controller deletes them then; in a bucket its
   * lifecycle rule does (infra: `artifacts.retentionDays`, which must be the same number), and the controller marks
   * them as expired.
   */
  artifactsRetentionDays: [ENV.artifactsRetentionDays, integer(1, 3_650).default(7)],
  /** The same for kept pages (infra: `artifacts.pagesRetentionDays`). */
  pagesRetentionDays: [ENV.pagesRetentionDays, integer(1, 3_650).default(7)],
  /** Days for which events are kept, and no longer than their session; 0: without end. */
  eventsRetentionDays: [ENV.eventsRetentionDays, integer(0, 3_650).default(30)],
  /**
   * Days for which ended sessions are kept, with their runners, artifact rows, user actions and policies; 0: without end. One with a
   * stored artifact is kept until that is removed.
   */
  sessionsRetentionDays: [ENV.sessionsRetentionDays, integer(0, 3_650).default(90)],
  /**
   * Seconds between two files of the audit, which go to the bucket of recordings (docs/audit.md); 0: none is written. A controller without a
   * bucket, or without its region, writes none.
   */
  auditExportSeconds: [ENV.auditExportSeconds, integer(0, 3_600).default(300)],
  /** Seconds between two rounds of the reaper, which ends expired leases (O18: 30 to 60 in production). */
  reapSeconds: [ENV.reapSeconds, decimal(0.05, 600).default(30)],
  /** Seconds for which a claim holds unless the replica that made it renews it. */
  claimSeconds: [ENV.claimSeconds, decimal(1, 120).default(15)],
  /** Seconds after which a start counts as stuck, from its claim or the launch of its runner, and another replica may take it over. */
  startSeconds: [ENV.startSeconds, decimal(2, 600).default(120)],
  /** Runners that one start tries before it fails, each in an epoch of its own. */
  startAttempts: [ENV.startAttempts, integer(1, 10).default(3)],
  /**
   * Prefix of the names of pods and Services of runners. Change it only while there are none: they are found by
   * name.
   */
  runnerNamePrefix: [
    ENV.runnerNamePrefix,
    z
      .string()
      // A Service's name is a DNS label of 63 characters, 36 of which are the runner's id.
      .regex(/^[a-z][a-z0-9-]{0,25}-$/, 'must be 2 to 27 of a-z, 0-9 and -, begin with a letter and end with -')
      .default(RUNNER_NAME_PREFIX),
  ],

  /**
   * Address of the controller's own pod, to which the Services of ended leases lead; without it their addresses end
   * with their pods.
   */
  podAddress: [ENV.podAddress, z.union([z.ipv4(), z.ipv6()], { error: 'must be an IP address' }).optional()],

  /**
   * The console as people open it, e.g. `https://console.example.com/`; clients that can send their person there do.
   */
  consoleUrl: [ENV.consoleUrl, privateUrl().optional()],
  /**
   * Address at which pages in a chat reach `/live` of the controller, e.g. `https://browser.example.com/live`;
   * without it they show the browser by calls.
   */
  liveUrl: [
    ENV.liveUrl,
    privateUrl()
      .transform(url => url.replace(/^http/, 'ws').replace(/\/$/, ''))
      .optional(),
  ],
  /**
   * Address at which clients reach the gateway, `/mcp` of the controller, e.g. `https://browser.example.com/mcp`;
   * without it there is no gateway.
   */
  gatewayUrl: [
    ENV.gatewayUrl,
    privateUrl()
      .refine(url => URL.parse(url)?.pathname === '/mcp', GATEWAY_PATH)
      .optional(),
  ],
  /** OIDC issuer of the access tokens that the gateway accepts, as it writes itself into `iss`. */
  gatewayIssuer: [ENV.gatewayIssuer, privateUrl().optional()],
  /** The `aud` of those tokens; by default the address of the gateway. */
  gatewayAudience: [ENV.gatewayAudience, z.string().optional()],
  /** The claim of an access token that names the user. */
  gatewayUserClaim: [ENV.gatewayUserClaim, z.string().default('sub')],
  /** Toolset of leases that the gateway makes. */
  gatewayToolset: [ENV.gatewayToolset, choice(...TOOLSETS).default('playwright')],
} as const;
export type Settings = SettingsOf<typeof CONTROLLER_SETTINGS>;

/** Which settings each secret store cannot do without. */
const NEEDED = {
  file: ['secretFileKey'],
  'vault-sql': [],
  'vault-rest': ['supabaseUrl', 'supabaseServiceRoleKey'],
  'vault-kv': ['vaultUrl', 'vaultToken'],
} as const satisfies Record<Settings['secretStore'], readonly (keyof Settings)[]>;

/** Refusal of a check, as a fault of the variable. */
function checkSetting(name: string, check: () => unknown): Fault[] {
  try {
    check();
    return [];
  } catch (error) {
    return [[name, `is wrong: ${error instanceof Error ? error.message : error}`]];
  }
}

/** On one machine they are kept in the data folder unless set otherwise. */
const keepsProfiles = ({ profileStore, provider }: Settings): boolean =>
  profileStore !== undefined || provider === 'local';

/** A runner reports until its lease ends, and its uploader for a day more: what they may repeat must still be known. */
function findShortRetentions({ maxSessionMinutes, ...settings }: Settings): Fault[] {
  const leastDays = maxSessionMinutes / (24 * 60) + 1;
  return (['eventsRetentionDays', 'sessionsRetentionDays'] as const).flatMap((field): Fault[] => {
    const days = settings[field];
    if (days === 0 || days >= leastDays) return [];
    const least = `at least ${Math.ceil(leastDays)}: the longest lease (${ENV.maxSessionMinutes}=${maxSessionMinutes}) and a day for its uploads`;
    return [[ENV[field], `is wrong: ${days} must be 0 or ${least}`]];
  });
}

function findFaults(settings: Settings): Fault[] {
  const { secretStore, artifactStore, provider, egressUrl, artifactEndpoints, supabaseUrl } = settings;
  const faults: Fault[] = NEEDED[secretStore].flatMap((field): Fault[] =>
    settings[field] === undefined ? [[ENV[field], `is not set, and ${ENV.secretStore}=${secretStore} needs it`]] : [],
  );
  const database = { url: settings.databaseUrl, tls: settings.databaseTls, ca: settings.databaseCa };
  faults.push(...checkSetting(ENV.databaseUrl, () => postgresConnection(database)));
  if (supabaseUrl !== undefined)
    faults.push(...checkSetting(ENV.supabaseUrl, () => checkedSupabaseUrl(supabaseUrl, settings.supabaseTls)));
  if (settings.gatewayUrl !== undefined && settings.gatewayIssuer === undefined)
    faults.push([ENV.gatewayIssuer, `is not set, and the gateway (${ENV.gatewayUrl}) needs it`]);
  faults.push(...findShortRetentions(settings));
  if (settings.poolIdleMax !== undefined && settings.poolIdleMax < settings.poolIdle)
    faults.push([
      ENV.poolIdleMax,
      `is wrong: ${settings.poolIdleMax} must be at least ${ENV.poolIdle}, ${settings.poolIdle}`,
    ]);
  const wrappingKey = settings.profileKmsKey ?? settings.profileKey ?? settings.secretFileKey;
  if (settings.profileStore !== undefined && wrappingKey === undefined)
    faults.push([ENV.profileKey, `is not set, and ${ENV.profileStore} needs it, or ${ENV.profileKmsKey}`]);
  if (settings.hibernate !== 'never' && (wrappingKey === undefined || !keepsProfiles(settings)))
    faults.push([ENV.profileStore, `and ${ENV.profileKey} are not set, and ${ENV.hibernate} needs them`]);
  if (settings.profileStore?.startsWith('s3:') && settings.awsRegion === undefined)
    faults.push([ENV.awsRegion, `is not set, and ${ENV.profileStore} in a bucket needs it`]);
  if (settings.publicUrl !== undefined && provider === 'kubernetes')
    faults.push([ENV.publicUrl, `is wrong: with ${ENV.provider}=kubernetes clients reach runners themselves`]);
  if (provider === 'kernel' && settings.kernelApiKey === undefined)
    faults.push([ENV.kernelApiKey, `is not set, and ${ENV.provider}=kernel needs it`]);
  if (provider === 'kernel' && egressUrl !== undefined)
    faults.push([ENV.egressUrl, `is wrong: with ${ENV.provider}=kernel no traffic passes the egress proxy`]);
  const inBucket = artifactStore?.startsWith('s3:');
  if (inBucket && provider !== 'kubernetes')
    faults.push([ENV.artifactStore, `is wrong: must be a folder (file:) with ${ENV.provider}=${provider}`]);
  else if (inBucket && egressUrl !== undefined && artifactEndpoints.length === 0)
    faults.push([ENV.artifactEndpoints, 'is not set, and uploaders reach a bucket through the egress proxy']);
  return faults;
}

/** Reads the controller's environment. Throws EnvironmentError. */
export const parseControllerSettings = (environment: Readonly<Record<string, unknown>>): Settings =>
  parseEnvironment('controller', CONTROLLER_SETTINGS, environment, findFaults);
