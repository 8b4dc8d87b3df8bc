/** Names that several rooms share: of clusters, roles and environments. */

export const NAMESPACES = {
  /** The API that leases browsers. */
  api: 'omicron',
  /** Controller and egress proxy: they hold secrets, so they are apart from the namespace where pods are created. */
  system: 'omicron-browser-system',
  /** Runners and the Service of their names, nothing else. */
  runners: 'omicron-browser',
} as const;

/** Treatment of the API's namespace by a rollout: leaves it alone, or creates it restricted and closed. */
export const API_NAMESPACES = ['existing', 'ours'] as const;
export type ApiNamespace = (typeof API_NAMESPACES)[number];

/** Architectures of nodes and images, as Kubernetes names them in `ARCHITECTURE_LABEL`. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];
export const ARCHITECTURE_LABEL = 'kubernetes.io/arch';

export const SERVICE_ACCOUNTS = {
  controller: 'browser-session-controller-sa',
  runner: 'pw-mcp-runner-sa',
  egress: 'egress-proxy-sa',
  console: 'browser-console-sa',
  clusterAutoscaler: 'cluster-autoscaler',
} as const;

export const SERVICES = {
  controller: 'browser-session-controller',
  egress: 'egress-proxy',
  console: 'browser-console',
} as const;

/** Port of controllers and runners. A name of the headless Service has no port of its own, and leads from the one to the other when a lease ends. */
const NAMED_PORT = 8080;

export const PORTS = {
  /** Controller: sessions API, broker, metrics, and the MCP endpoint of leases that have ended. */
  controller: NAMED_PORT,
  /** Runner: /mcp, /assign, /drain, /files, /healthz. */
  runner: NAMED_PORT,
  /** Console: its pages and their API. */
  console: 8080,
  /** Egress proxy: HTTP and CONNECT. */
  egress: 3128,
  /** Egress proxy: health and metrics. */
  egressAdmin: 9090,
  /** Console: metrics, which its ingress does not reach. */
  consoleAdmin: 9090,
} as const;

/** Path of the controller to which a runner on a cluster sends its spans. */
export const RUNNER_TRACES_PATH = '/internal/runner-traces';

export const LABELS = {
  app: 'app',
  runnerApp: 'pw-mcp-runner',
  controllerApp: 'browser-session-controller',
  egressApp: 'egress-proxy',
  consoleApp: 'browser-console',
  sessionId: 'session_id',
  userIdHash: 'user_id_hash',
  runnerId: 'omicron.dev/runner-id',
  state: 'omicron.dev/runner-state',
  /** The EndpointSlice that has the name of a runner's pod. */
  nameSlice: 'omicron.dev/name-slice',
  epoch: 'omicron.dev/epoch',
  /** Pods of the API namespace that may reach runners and the controller carry this label with the value `true`. */
  mcpClient: 'omicron.dev/mcp-client',
} as const;

/** Value of the label `LABELS.state` of a leased pod. */
export const LEASED = 'leased';
/**
 * Annotations that keep Karpenter and the cluster autoscaler from moving a leased pod: <https://karpenter.sh/docs/concepts/disruption/#pod-level-controls>.
 * A warm pod has the autoscaler's alone; Karpenter may consolidate it. One whose lease has ended has neither.
 */
export const KEEP_POD = {
  'karpenter.sh/do-not-disrupt': 'true',
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
} as const;
/** The headless Service below which runners have their names. */
export const RUNNERS_SERVICE = 'runners';
/** Manager of its EndpointSlices; Kubernetes leaves those of others alone. */
export const ENDPOINT_MANAGER = 'omicron-browser';
/** Tombstones of a cluster: names of ended leases beside those of runners. Ten minutes of eight ends a second. */
export const TOMBSTONES_MAX = 5_000;

/** Label and taint of the browser node group (O16). */
export const BROWSER_NODES = { key: 'workload', value: 'browser', effect: 'NoSchedule' } as const;

export const RUNNER_NAME_PREFIX = 'pw-mcp-';
/** Pod of one runner, and its host name below `RUNNERS_SERVICE`; the prefix is a setting (S12). */
export const runnerName = (runnerId: string, prefix = RUNNER_NAME_PREFIX): string => `${prefix}${runnerId}`;
export const runnerHost = (name: string, namespace: string): string =>
  `${name}.${RUNNERS_SERVICE}.${namespace}.svc.cluster.local`;

/** Temporary folder of a local runner and its browser; what kills the runner deletes it. */
export const runnerTempName = (runnerId: string): string => `omicron-runner-${runnerId}`;
/** There: the id of the browser's process, and of the group that it leads; in the second folder, of a browser that keeps its files there. */
export const BROWSER_PID_FILE = 'browser.pid';
export const RUNNER_PROFILE_FOLDER = 'profile';

/** The PodTemplate from which the controller creates runners, in their namespace. */
export const RUNNER_TEMPLATE = 'pw-mcp-runner';

/** Prefix of the keys of all videos and files; the uploader's role may write there and below `PAGE_PREFIX` (O14, O15). */
export const VIDEO_PREFIX = 'pw-videos';

/** Prefix of the keys of all kept pages: the bucket removes them after days of their own. */
export const PAGE_PREFIX = 'pw-pages';

export const videoPrefix = (env: string, sessionId: string, epoch: number, runnerId: string): string =>
  `${VIDEO_PREFIX}/${env}/${sessionId}/${epoch}-${runnerId}/`;

/** Folders of a lease's files, by their source, below its output and its prefix in the artifact store. Names of videos have no folder. */
export const FILE_FOLDERS = { upload: 'uploads', download: 'downloads' } as const;

/** Prefix of all profile objects. */
export const PROFILE_PREFIX = 'profiles';

/** Prefix of the keys of audit files; below it each environment has its own. */
export const AUDIT_PREFIX = 'audit';

/** The seccomp profile that allows Chromium's sandbox, as `localhostProfile` names it. */
export const SECCOMP_PROFILE = 'seccomp-chromium.json';

/**
 * Path at which the controller itself answers MCP for the lease of a runner: once that is gone, and before where runners
 * are not reached.
 */
export const leaseMcpPath = (runnerId: string): string => `/runners/${runnerId}/mcp`;

export const AUDIENCES = {
  controller: 'browser-session-controller',
  broker: 'runner-secrets',
  lease: 'lease-report',
  artifacts: 'artifact-report',
  /** The egress proxy's calls, under its own secret: it must not be able to lease browsers. */
  egress: 'egress-authorize',
  /** The command asks the console for a link. */
  console: 'console-links',
  /** Audience of an assignment: this runner, this boot of it. */
  runner: (runnerId: string, bootId: string): string => `runner/${runnerId}/${bootId}`,
  /** Audience of a short-lived MCP token: the lease of this runner. */
  mcp: (runnerId: string): string => `mcp/${runnerId}`,
  /** Audience of a viewer's token: the live view of this runner, this boot of it. */
  live: (runnerId: string, bootId: string): string => `live/${runnerId}/${bootId}`,
} as const;

/** A call with it is answered without links to resources: clients of the gateway and of the command's stdio server cannot read them. */
export const NO_LINKS_HEADER = 'x-omicron-no-links';

/** Issuer of every token that the controller signs. */
export const ISSUER = 'browser-session-controller';

/**
 * How a runner is started: `node <flags> <main>` from the repository's folder, with `env` added. A browser session
 * waits for its browser, so Node trades speed of its young objects for less memory per runner, and helper threads for
 * 10 MB. With less room for young objects than this, and `--optimize-for-size`, a runner takes 5 to 15 MB less, but collects
 * garbage in a quarter of its time: an action takes a tenth longer. That glibc returns what was freed saves 25 MB (mallopt(3):
 * few arenas, and the threshold stays at its start). All measured.
 */
export const RUNNER_COMMAND = {
  flags: ['--max-semi-space-size=4', '--v8-pool-size=1', '--disable-warning=ExperimentalWarning'],
  env: { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' },
  /** Variables that a runner on a laptop inherits from the process that starts it. */
  inherits: ['PATH', 'HOME', 'TMPDIR', 'LANG', 'PLAYWRIGHT_BROWSERS_PATH', 'NODE_EXTRA_CA_CERTS'],
  main: 'runner/main.ts',
  uploaderMain: 'runner/uploader/main.ts',
} as const;

/** Every environment variable that a program of this repository reads, by the name of its setting; docs/reference/settings.md lists them. */
export const ENV = {
  logLevel: 'OMICRON_LOG_LEVEL',
  artifactStore: 'OMICRON_ARTIFACT_STORE',
  controllerUrl: 'OMICRON_CONTROLLER_URL',
  egressUrl: 'OMICRON_EGRESS_URL',
  egressSecret: 'OMICRON_EGRESS_JWT_SECRET',

  // the controller
  controllerHost: 'OMICRON_HOST',
  controllerPort: 'OMICRON_PORT',
  publicUrl: 'OMICRON_PUBLIC_URL',
  environmentName: 'OMICRON_ENV',
  databaseUrl: 'OMICRON_DATABASE_URL',
  databaseTls: 'OMICRON_DATABASE_TLS',
  databaseCa: 'OMICRON_DATABASE_CA',
  databaseConnections: 'OMICRON_DATABASE_CONNECTIONS',
  dataDir: 'OMICRON_DATA_DIR',
  serviceSecret: 'OMICRON_SERVICE_JWT_SECRET',
  signingKey: 'OMICRON_SIGNING_KEY',
  derivationKey: 'OMICRON_DERIVATION_KEY',
  provider: 'OMICRON_PROVIDER',
  localRunnerMemoryMb: 'OMICRON_LOCAL_RUNNER_MEMORY_MB',
  kernelUrl: 'OMICRON_KERNEL_URL',
  kernelApiKey: 'OMICRON_KERNEL_API_KEY',
  secretStore: 'OMICRON_SECRET_STORE',
  wellKnownSites: 'OMICRON_WELL_KNOWN_SITES',
  credentialSites: 'OMICRON_CREDENTIAL_SITES',
  secretFileKey: 'OMICRON_SECRET_FILE_KEY',
  supabaseUrl: 'SUPABASE_URL',
  supabaseTls: 'OMICRON_SUPABASE_TLS',
  supabaseServiceRoleKey: 'SUPABASE_SERVICE_ROLE_KEY',
  vaultUrl: 'OMICRON_VAULT_URL',
  vaultMount: 'OMICRON_VAULT_MOUNT',
  vaultToken: 'OMICRON_VAULT_TOKEN',
  profileStore: 'OMICRON_PROFILE_STORE',
  profileKey: 'OMICRON_PROFILE_KEY',
  profileKmsKey: 'OMICRON_PROFILE_KMS_KEY',
  profileQuotaMb: 'OMICRON_PROFILE_QUOTA_MB',
  profileRetentionDays: 'OMICRON_PROFILE_RETENTION_DAYS',
  keepFiles: 'OMICRON_KEEP_FILES',
  policyPresets: 'OMICRON_POLICY_PRESETS',
  hibernate: 'OMICRON_HIBERNATE',
  hibernatedHours: 'OMICRON_HIBERNATED_HOURS',
  artifactEndpoints: 'OMICRON_ARTIFACT_ENDPOINTS',
  artifactsRetentionDays: 'OMICRON_ARTIFACTS_RETENTION_DAYS',
  pagesRetentionDays: 'OMICRON_PAGES_RETENTION_DAYS',
  eventsRetentionDays: 'OMICRON_EVENTS_RETENTION_DAYS',
  sessionsRetentionDays: 'OMICRON_SESSIONS_RETENTION_DAYS',
  auditExportSeconds: 'OMICRON_AUDIT_EXPORT_SECONDS',
  webhookAllowedCidrs: 'OMICRON_WEBHOOK_ALLOWED_CIDRS',
  userLimit: 'OMICRON_USER_LIMIT',
  onUserLimit: 'OMICRON_ON_USER_LIMIT',
  capacity: 'OMICRON_CAPACITY',
  poolIdle: 'OMICRON_POOL_IDLE',
  poolIdleMax: 'OMICRON_POOL_IDLE_MAX',
  poolBurst: 'OMICRON_POOL_BURST',
  launchesMax: 'OMICRON_LAUNCHES_MAX',
  drainsMax: 'OMICRON_DRAINS_MAX',
  maxSessionMinutes: 'OMICRON_MAX_SESSION_MINUTES',
  reapSeconds: 'OMICRON_REAP_SECONDS',
  claimSeconds: 'OMICRON_CLAIM_SECONDS',
  startSeconds: 'OMICRON_START_SECONDS',
  consoleUrl: 'OMICRON_CONSOLE_URL',
  consoleEmbedOrigins: 'OMICRON_CONSOLE_EMBED_ORIGINS',
  consoleHost: 'OMICRON_CONSOLE_HOST',
  consolePort: 'OMICRON_CONSOLE_PORT',
  consoleAdminHost: 'OMICRON_CONSOLE_ADMIN_HOST',
  consoleAdminPort: 'OMICRON_CONSOLE_ADMIN_PORT',
  consoleOidcIssuer: 'OMICRON_CONSOLE_OIDC_ISSUER',
  consoleOidcClientId: 'OMICRON_CONSOLE_OIDC_CLIENT_ID',
  consoleOidcClientSecret: 'OMICRON_CONSOLE_OIDC_CLIENT_SECRET',
  consoleOidcScopes: 'OMICRON_CONSOLE_OIDC_SCOPES',
  consolePlatformIssuer: 'OMICRON_CONSOLE_PLATFORM_ISSUER',
  consolePlatformAudience: 'OMICRON_CONSOLE_PLATFORM_AUDIENCE',
  consolePlatformSecret: 'OMICRON_CONSOLE_PLATFORM_JWT_SECRET',
  consoleUserClaim: 'OMICRON_CONSOLE_USER_CLAIM',
  consoleRoleClaim: 'OMICRON_CONSOLE_ROLE_CLAIM',
  consoleViewerRole: 'OMICRON_CONSOLE_VIEWER_ROLE',
  consoleOperatorRole: 'OMICRON_CONSOLE_OPERATOR_ROLE',
  consoleAdminRole: 'OMICRON_CONSOLE_ADMIN_ROLE',
  consoleRoleWithout: 'OMICRON_CONSOLE_ROLE_WITHOUT',
  liveUrl: 'OMICRON_LIVE_URL',
  gatewayUrl: 'OMICRON_GATEWAY_URL',
  gatewayIssuer: 'OMICRON_GATEWAY_ISSUER',
  gatewayAudience: 'OMICRON_GATEWAY_AUDIENCE',
  gatewayUserClaim: 'OMICRON_GATEWAY_USER_CLAIM',
  gatewayToolset: 'OMICRON_GATEWAY_TOOLSET',

  // a runner and its uploader
  runnerId: 'OMICRON_RUNNER_ID',
  controllerJwks: 'OMICRON_CONTROLLER_JWKS',
  runnerHost: 'OMICRON_RUNNER_HOST',
  runnerPort: 'OMICRON_RUNNER_PORT',
  portFile: 'OMICRON_PORT_FILE',
  outputDir: 'OMICRON_OUTPUT_DIR',
  remoteBrowser: 'OMICRON_REMOTE_BROWSER',
  chromiumPath: 'OMICRON_CHROMIUM',
  chromiumSandbox: 'OMICRON_CHROMIUM_SANDBOX',
  ffmpegPath: 'OMICRON_FFMPEG',
  freezeSeconds: 'OMICRON_FREEZE_SECONDS',
  checkpointSeconds: 'OMICRON_PROFILE_CHECKPOINT_SECONDS',
  browserMemoryMb: 'OMICRON_BROWSER_MEMORY_MB',
  runnerMemoryMb: 'OMICRON_RUNNER_MEMORY_MB',
  downloadMb: 'OMICRON_DOWNLOAD_MB',
  downloadsMb: 'OMICRON_DOWNLOADS_MB',
  downloadsMax: 'OMICRON_DOWNLOADS_MAX',
  fileMb: 'OMICRON_FILE_MB',
  filesMb: 'OMICRON_FILES_MB',
  filesMax: 'OMICRON_FILES_MAX',
  chromiumCa: 'OMICRON_CHROMIUM_CA',
  chromiumSpki: 'OMICRON_CHROMIUM_SPKI',
  mcpTokenSeconds: 'OMICRON_MCP_TOKEN_SECONDS',
  startAttempts: 'OMICRON_START_ATTEMPTS',
  podAddress: 'OMICRON_POD_ADDRESS',
  runnerNamePrefix: 'OMICRON_RUNNER_NAME_PREFIX',
  toolset: 'OMICRON_TOOLSET',
  snapshot: 'OMICRON_SNAPSHOT',
  keepPages: 'OMICRON_KEEP_PAGES',
  answerTokens: 'OMICRON_ANSWER_TOKENS',
  imageText: 'OMICRON_IMAGE_TEXT',
  insecureLoginOrigins: 'OMICRON_INSECURE_LOGIN_ORIGINS',
  mcpOrigins: 'OMICRON_MCP_ORIGINS',
  uploadSeconds: 'OMICRON_UPLOAD_SECONDS',
  awsRegion: 'AWS_REGION',
  awsS3Endpoint: 'AWS_ENDPOINT_URL_S3',
  awsStsEndpoint: 'AWS_ENDPOINT_URL_STS',
  awsRoleArn: 'AWS_ROLE_ARN',
  awsWebIdentityTokenFile: 'AWS_WEB_IDENTITY_TOKEN_FILE',

  // the egress proxy
  egressHost: 'OMICRON_EGRESS_HOST',
  egressPort: 'OMICRON_EGRESS_PORT',
  egressAdminHost: 'OMICRON_EGRESS_ADMIN_HOST',
  egressAdminPort: 'OMICRON_EGRESS_ADMIN_PORT',
  egressDeniedCidrs: 'OMICRON_EGRESS_DENIED_CIDRS',
  egressAllowedCidrs: 'OMICRON_EGRESS_ALLOWED_CIDRS',
  egressDnsServers: 'OMICRON_EGRESS_DNS_SERVERS',
  egressDnsSeconds: 'OMICRON_EGRESS_DNS_SECONDS',
  egressConnectSeconds: 'OMICRON_EGRESS_CONNECT_SECONDS',
  egressHeadSeconds: 'OMICRON_EGRESS_HEAD_SECONDS',
  egressIdleSeconds: 'OMICRON_EGRESS_IDLE_SECONDS',
  egressFreshSeconds: 'OMICRON_EGRESS_FRESH_SECONDS',
  egressConfirmSeconds: 'OMICRON_EGRESS_CONFIRM_SECONDS',
  egressWatchSeconds: 'OMICRON_EGRESS_WATCH_SECONDS',
  egressGraceSeconds: 'OMICRON_EGRESS_GRACE_SECONDS',
  egressConnectionsPerLease: 'OMICRON_EGRESS_CONNECTIONS_PER_LEASE',
  egressBytesPerLease: 'OMICRON_EGRESS_BYTES_PER_LEASE',
  egressClientsMax: 'OMICRON_EGRESS_CLIENTS_MAX',
  egressLeasesMax: 'OMICRON_EGRESS_LEASES_MAX',
  egressUpstreamUrl: 'OMICRON_EGRESS_UPSTREAM_URL',
  egressUpstreamCredentialFile: 'OMICRON_EGRESS_UPSTREAM_CREDENTIAL_FILE',
  egressUpstreamCaFile: 'OMICRON_EGRESS_UPSTREAM_CA_FILE',

  // an application and the command
  /** `off`: the local stack runs no egress proxy, so that pages reach this machine and its network. */
  egress: 'OMICRON_EGRESS',
  /** User of `omicron-browser mcp`, whose browsers it leases. */
  mcpUser: 'OMICRON_MCP_USER',
  /** Presets of policies under which `omicron-browser mcp` leases, joined by commas. */
  mcpPolicyPresets: 'OMICRON_MCP_POLICY_PRESETS',
  /** Folder of the local stack. */
  folder: 'OMICRON_FOLDER',
  mcpUrlFallback: 'PLAYWRIGHT_MCP_URL',
  sessionsEnabled: 'BROWSER_SESSIONS_ENABLED',
} as const;

/** A variable that a program of this repository reads. */
export type Setting = (typeof ENV)[keyof typeof ENV];

/** Variables that a runner on this machine inherits from its stack or controller, besides the paths of its programs. */
export const RUNNER_VARIABLES = [
  ...RUNNER_COMMAND.inherits,
  ENV.logLevel,
  ENV.chromiumSandbox,
  ENV.chromiumCa,
  ENV.chromiumSpki,
  ENV.toolset,
  ENV.snapshot,
  ENV.keepPages,
  ENV.answerTokens,
  ENV.imageText,
  ENV.insecureLoginOrigins,
  ENV.mcpOrigins,
  ENV.freezeSeconds,
  ENV.checkpointSeconds,
  ENV.browserMemoryMb,
  ENV.runnerMemoryMb,
  ENV.downloadMb,
  ENV.downloadsMb,
  ENV.downloadsMax,
  ENV.fileMb,
  ENV.filesMb,
  ENV.filesMax,
];

/**
 * Outputs of the Pulumi stack, read by name: `pulumi stack output <name>`, or all of them with `--json`. Programs of the
 * cluster need these values of AWS and no others.
 */
export const STACK_OUTPUTS = [
  'env',
  'region',
  'accountId',
  'clusterName',
  'kubeconfig',
  'oidcIssuer',
  'oidcProviderArn',
  'uploaderRoleArn',
  'controllerRoleArn',
  'clusterAutoscalerRoleArn',
  'artifactReaderRoleArn',
  'artifactsBucket',
  'artifactsKeyArn',
  'profilesKeyArn',
  'controllerRepositoryUrl',
  'runnerRepositoryUrl',
  'egressRepositoryUrl',
  'consoleRepositoryUrl',
  /**
   * Ranges that the egress proxy must refuse besides the private ones: a site must not reach the cluster from outside
   * in.
   */
  'vpcCidr',
  'serviceCidr',
  'natAddresses',
] as const;

export type StackOutput = (typeof STACK_OUTPUTS)[number];
