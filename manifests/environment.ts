import type { k8s } from 'cdk8s-plus-28';

/** A request and a limit, in Kubernetes' own spelling. */
export interface Resources {
  readonly cpu: readonly [request: string, limit: string];
  readonly memory: readonly [request: string, limit: string];
  readonly ephemeralStorage: readonly [request: string, limit: string];
}

/** All in which `local`, `dev` and `prod` differ. Everything else stands once, in `parts/`. */
export interface Environment {
  /** Names the environment in the recordings' prefix. */
  readonly name: 'local' | 'dev' | 'prod';
  /** Kubernetes minor whose Pod Security Standards are meant: a new version must not close a namespace by itself. */
  readonly podSecurityVersion: string;
  readonly images: Readonly<Record<'controller' | 'runner' | 'egress' | 'pause', string>>;

  /** Runners have no DNS: these two Services have addresses that are known beforehand. */
  readonly clusterIps: { readonly controller: string; readonly egress: string };
  /** Where the API server answers: its Service and the addresses behind it. */
  readonly apiServer: { readonly cidrs: readonly string[]; readonly ports: readonly number[] };
  /** What the controller may dial besides runners, DNS and the API server. */
  readonly database: { readonly to: readonly k8s.NetworkPolicyPeer[]; readonly ports: readonly number[] };
  /** AWS's and Supabase's public endpoints on port 443 for the controller. */
  readonly controllerReachesPublicHttps: boolean;
  /** Ranges of this deployment that no browser may reach: VPC, pods, Services, its own public addresses. */
  readonly ownCidrs: readonly string[];
  /** Internal ranges that stand for the internet: test sites of a cluster without one. */
  readonly standIns: { readonly cidrs: readonly string[]; readonly peers: readonly k8s.NetworkPolicyPeer[] };

  /** IAM roles of the service accounts (IRSA); none where there is no AWS. */
  readonly roles?: { readonly uploader: string; readonly controller: string };
  readonly artifacts: {
    readonly bucket: string;
    readonly region: string;
    /** The AWS SDK's own variables: where S3 and STS answer. */
    readonly endpoints: Readonly<Partial<Record<'AWS_ENDPOINT_URL_S3' | 'AWS_ENDPOINT_URL_STS', string>>>;
    /** Gives the uploader the token that EKS's webhook would give it, for a cluster without EKS. */
    readonly webIdentityRole?: string;
  };

  readonly replicas: { readonly controller: number; readonly egress: number };
  readonly runner: {
    readonly browser: Resources;
    readonly uploader: Resources;
    /** http origins on which credentials may be filled all the same: a cluster's own test sites, never a deployment's. */
    readonly insecureLoginOrigins?: readonly string[];
    /** gVisor, Kata or an EKS sandbox, where the nodes have one. */
    readonly runtimeClassName?: string;
  };
  /** Placeholder pods of a runner's size, which runners push out: so many starts need no new node. */
  readonly spareRunners: number;
  readonly limits: {
    /** The global cap of runners (O19). */
    readonly capacity: number;
    readonly userLimit: number;
    readonly poolIdle: number;
    readonly poolBurst: number;
    readonly maxSessionMinutes: number;
    readonly retentionDays: number;
  };
  readonly logLevel: 'info' | 'debug';
  readonly secretStore: 'vault-sql' | 'vault-rest';
  /** Namespace of a Prometheus that reads ServiceMonitors and PrometheusRules. */
  readonly monitoringNamespace?: string;
  readonly gitops: { readonly repository: string; readonly revision: string };
}
