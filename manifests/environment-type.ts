import type { k8s } from 'cdk8s-plus-28';
import type { ApiNamespace, Architecture, Setting } from '../contract/names.ts';
import type { Resources } from '../contract/runner-shapes.ts';
import type { TelemetrySetting } from './telemetry-settings.ts';

/** Address of the console for people, and the issuers that sign them in. */
export interface ConsoleChoices {
  /** e.g. `https://console.example.com`; TLS ends at the ingress. */
  readonly url: string;
  readonly ingress: {
    /** Without it no Ingress is made: something else, a Gateway for example, passes requests on to the Service. */
    readonly className?: string;
    /** Annotations of the ingress controller; its idle time-out must be above 20 s, at which live views send a ping. */
    readonly annotations?: Readonly<Record<string, string>>;
    /** A Secret with the certificate, where the ingress controller has none of its own. */
    readonly tlsSecret?: string;
    /** The ingress controller's pods, or the subnets of a load balancer that connects to pods itself. */
    readonly from: k8s.NetworkPolicyPeer;
  };
  /** OpenID Connect; the client's secret is in the console's Secret. */
  readonly oidc?: { readonly issuer: string; readonly clientId: string };
  /** The platform's own tokens (Supabase Auth). */
  readonly platform?: { readonly issuer: string };
  /** Peers of the identity provider, on port 443; the internet unless given. */
  readonly identityProvider?: readonly k8s.NetworkPolicyPeer[];
  readonly claims?: {
    readonly user?: string;
    readonly role?: string;
    readonly roleWithout?: 'viewer' | 'operator' | 'admin' | 'none';
  };
  /** Origins whose pages may show a preview in a frame. */
  readonly embedOrigins?: readonly string[];
}

/** Values by variable. The sandbox of Chromium is no choice of an environment. */
export type FurtherSettings = Readonly<
  Partial<Record<Exclude<Setting, 'OMICRON_CHROMIUM_SANDBOX'> | TelemetrySetting, string>>
>;

/** The programs whose settings an environment may choose. */
export type ConfiguredProgram = 'controller' | 'egress' | 'console' | 'runner' | 'uploader';

/** Everything in which `local`, `dev` and `prod` differ. Everything else is in `parts/`. */
export interface Environment {
  /** Names the environment in the recordings' prefix. */
  readonly name: 'local' | 'dev' | 'prod';
  /** Version of the Pod Security Standards: pinned, so that upgrading Kubernetes does not tighten a namespace. */
  readonly podSecurityVersion: string;
  /** Empty until it is pushed: the API server refuses a pod without an image. */
  readonly images: Readonly<Record<'controller' | 'runner' | 'egress' | 'console' | 'pause', string>>;

  /** Only images that this key signed run: docs/verify.md, "On a cluster". Without it no signature is asked for. */
  readonly signedImages?: {
    /** In PEM. */
    readonly publicKey: string;
    /** Provider of the credentials for the registry of a cloud, `amazon` for ECR. */
    readonly registryProvider?: 'amazon' | 'azure' | 'google' | 'github';
  };

  /**
   * The platform's namespace, `omicron`. `existing`: it runs something already, so nothing is rendered into it, and the platform's own
   * policies hold. `ours`: it is created here, restricted and closed except what the label `omicron.dev/mcp-client` opens.
   */
  readonly apiNamespace: ApiNamespace;

  /** Runners have no DNS, so these two Services have fixed addresses. */
  readonly clusterIps: { readonly controller: string; readonly egress: string };
  /** Addresses of the API server: its Service and its endpoints. */
  readonly apiServer: { readonly cidrs: readonly string[]; readonly ports: readonly number[] };
  /** Peers of the controller besides runners, DNS and the API server. */
  readonly database: {
    readonly to: readonly k8s.NetworkPolicyPeer[];
    readonly ports: readonly number[];
    /** `off`: Postgres is reached without TLS, inside a cluster whose network is trusted. */
    readonly tls?: 'off';
    /** PEM of the authority of its certificate, where that is not a public one: Supabase's own, for example. */
    readonly ca?: string;
  };
  /** Whether the controller may reach public endpoints of AWS and Supabase on port 443. */
  readonly controllerReachesPublicHttps: boolean;
  /** Ranges of this deployment that no browser may reach: VPC, pods, Services, public addresses. */
  readonly ownCidrs: readonly string[];
  /** Internal ranges that browsers may reach, and what is there: sites of your own, an upstream proxy, or tests in place of the internet. */
  readonly privateSites: { readonly cidrs: readonly string[]; readonly peers: readonly k8s.NetworkPolicyPeer[] };

  /** IAM roles of the service accounts (IRSA); none where there is no AWS. */
  readonly roles?: { readonly uploader: string; readonly controller: string };
  readonly artifacts: {
    readonly bucket: string;
    readonly region: string;
    /** Addresses of S3 and STS; AWS's own endpoints when absent. */
    readonly endpoints: { readonly s3?: string; readonly sts?: string };
    /** Mounts the token that EKS's webhook would mount into uploader and controller, for a cluster without EKS. */
    readonly webIdentityRole?: string;
  };

  /** Profiles are kept in the bucket of artifacts; none without this. */
  readonly profiles?: {
    /** The KMS key that wraps the keys of users; without one a key in the controller's Secret does. */
    readonly keyArn?: string;
    /**
     * Peers that the controller reaches for them beside the internet: the VPC's endpoints for KMS and STS, or an S3
     * server in the cluster.
     */
    readonly endpoints: { readonly to: readonly k8s.NetworkPolicyPeer[]; readonly ports: readonly number[] };
    /** Sessions whose get-or-create does not say are hibernated then, for this long; never without this. */
    readonly hibernation?: { readonly when: 'node' | 'expiry'; readonly keptHours: number };
  };

  /** `/mcp` of the controller for clients outside, where there is one: docs/operations.md, "The gateway". */
  readonly gateway?: {
    readonly url: string;
    readonly issuer: string;
    readonly audience?: string;
    readonly userClaim?: string;
    readonly toolset?: string;
    /** Address at which pages in a chat reach `/live` of the controller. */
    readonly liveUrl?: string;
    /** The ingress that passes the requests of clients on. */
    readonly from: k8s.NetworkPolicyPeer;
  };

  /** The console for people, where there is one: docs/console.md, "On a cluster". */
  readonly console?: ConsoleChoices;

  readonly replicas: { readonly controller: number; readonly egress: number };
  readonly runner: {
    readonly browser: Resources;
    readonly uploader: Resources;
    /** Pages that are kept, unless a lease says otherwise. */
    readonly keepPages?: 'none' | 'last' | 'calls';
    /** Files that stay after their session, as long as videos, unless a lease says otherwise. */
    readonly keepFiles?: 'none' | 'all';
    /** http origins on which credentials may be filled nevertheless: test sites only, never those of a deployment. */
    readonly insecureLoginOrigins?: readonly string[];
    /** Origins whose pages may use `/mcp`, and whose hosts a gateway may send as `Host`. */
    readonly mcpOrigins?: readonly string[];
    /** Nodes on which runners run, where browser nodes are of both and the runner's image is of one; of either unless given. */
    readonly architecture?: Architecture;
    /** gVisor, Kata or an EKS sandbox, where the nodes have one. */
    readonly runtimeClassName?: string;
  };
  /** Number of placeholder pods of a runner's size, which runners preempt: that many starts need no new node. */
  readonly spareRunners: number;
  readonly limits: {
    /** Maximum number of runners (O19). */
    readonly capacity: number;
    readonly userLimit: number;
    readonly poolIdle: number;
    readonly poolBurst: number;
    readonly maxSessionMinutes: number;
    readonly retentionDays: number;
    readonly pagesRetentionDays: number;
  };
  readonly logLevel: 'info' | 'debug';
  /** Settings of the programs that have no field here, by variable: `{ controller: { OMICRON_ON_USER_LIMIT: 'evict_oldest' } }`. */
  readonly settings?: Readonly<Partial<Record<ConfiguredProgram, FurtherSettings>>>;
  readonly secretStore: 'vault-sql' | 'vault-rest' | 'vault-kv';
  /** Peers of HashiCorp Vault, with `vault-kv`. */
  readonly vault?: { readonly to: readonly k8s.NetworkPolicyPeer[]; readonly ports: readonly number[] };
  /**
   * A collector of OpenTelemetry, which gets the traces of every program and the metrics of controller and egress proxy: docs/operations.md,
   * "Traces". Runners send their spans to the controller.
   */
  readonly collector?: {
    /** Its OTLP over HTTP, e.g. `http://otel-collector.monitoring.svc.cluster.local:4318`. */
    readonly endpoint: string;
    /** Its pods, or its addresses. */
    readonly to: readonly k8s.NetworkPolicyPeer[];
    /** Ports of its pods, which its Service may name otherwise. */
    readonly ports: readonly number[];
    /** The share of the traces that begin here and are kept, e.g. `0.1`; all unless given. A caller's own decision holds. */
    readonly traceRatio?: string;
  };
  /** Namespace of a Prometheus that reads ServiceMonitors and PrometheusRules. */
  readonly monitoringNamespace?: string;
  /** Source that Argo CD reads: a git repository, or `oci://` with the artifact `manifests` of a release and its version. */
  readonly gitops: { readonly repository: string; readonly revision: string };
}
