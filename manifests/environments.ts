import { ENV } from '../contract/names.ts';
import { type RunnerShape, resourcesOfShape } from '../contract/runner-shapes.ts';
import type { Environment } from './environment-type.ts';
import { imageDigests } from './image-digests.ts';
import images from './images.json' with { type: 'json' };
import { type Outputs, readOutputs } from './outputs.ts';
import { NOT_PUBLIC } from './ranges.ts';

const LIMITS = {
  capacity: 120, // O19, unless an environment says otherwise
  userLimit: 3,
  poolIdle: 4,
  poolBurst: 4,
  maxSessionMinutes: 480,
  retentionDays: 7,
  pagesRetentionDays: 7,
} as const;

const GITOPS = { repository: 'https://github.com/example/omicron-browser.git', revision: 'main' } as const;

/**
 * The first address of a range plus `offset`. Kubernetes assigns the first 256 of a /16 last, so that Services may
 * request one: https://kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation/
 */
const address = (cidr: string, offset: number): string => `${cidr.split('.').slice(0, 2).join('.')}.0.${offset}`;

const clusterIps = (serviceCidr: string) => ({
  controller: address(serviceCidr, 40),
  egress: address(serviceCidr, 41),
});

/** One node with two cores and no internet: web sites, S3 and Postgres are pods of the tests. */
const local: Environment = {
  name: 'local',
  podSecurityVersion: 'v1.35',
  images: {
    controller: 'localhost/omicron-browser-controller:dev',
    runner: 'localhost/omicron-browser-runner:dev',
    egress: 'localhost/omicron-browser-egress:dev',
    console: 'localhost/omicron-browser-console:dev',
    pause: 'localhost/pause:1',
  },
  apiNamespace: 'ours',
  clusterIps: clusterIps('10.96.0.0/16'),
  apiServer: { cidrs: ['10.96.0.1/32', '10.245.0.0/24'], ports: [443, 6443] },
  database: { to: [testDouble('database')], ports: [5432], tls: 'off' },
  controllerReachesPublicHttps: false,
  ownCidrs: ['10.244.0.0/16', '10.96.0.0/16', '10.245.0.0/24'],
  // Services of the tests that browsers and uploaders may reach have addresses in this range.
  privateSites: { cidrs: ['10.96.0.64/28'], peers: [testDouble('internet')] },
  artifacts: {
    bucket: 'omicron-browser-local-artifacts',
    region: 'eu-central-1',
    endpoints: { s3: 'http://s3.omicron-fixtures.test', sts: 'http://sts.omicron-fixtures.test' },
    webIdentityRole: 'arn:aws:iam::000000000000:role/omicron-browser-local-uploader',
  },
  profiles: {
    endpoints: { to: [testDouble('internet')], ports: [5000] }, // S3_PORT of cluster/fixtures
  },
  replicas: { controller: 2, egress: 2 },
  runner: {
    browser: { cpu: ['50m', '2'], memory: ['256Mi', '4Gi'], ephemeralStorage: ['1Gi', '8Gi'] },
    uploader: { cpu: ['10m', '500m'], memory: ['64Mi', '256Mi'], ephemeralStorage: ['64Mi', '256Mi'] },
    insecureLoginOrigins: ['http://shop.omicron-fixtures.test', 'http://site.omicron-fixtures.test'],
  },
  spareRunners: 2,
  limits: { ...LIMITS, poolIdle: 2 },
  logLevel: 'debug',
  secretStore: 'vault-sql',
  // The cluster has no ingress controller, and no identity provider answers: a fixture opens pages, with tokens that it signs.
  console: {
    url: 'https://console.omicron-fixtures.test',
    ingress: { from: testDouble('internet') },
    platform: { issuer: 'https://login.omicron-fixtures.test' },
  },
  gitops: GITOPS,
};

/** Pods in a namespace of the tests that take the place of what a deployment has outside the cluster. */
function testDouble(part: 'internet' | 'database') {
  return {
    namespaceSelector: { matchLabels: { 'omicron.dev/fixtures': 'true' } },
    podSelector: { matchLabels: { 'omicron.dev/stands-for': part } },
  };
}

const digests = imageDigests(images);

/** How the two environments on AWS differ. */
type Choices = Pick<Environment, 'spareRunners' | 'logLevel' | 'console' | 'gateway' | 'settings'> & {
  /** `standard` where it is left out. */
  shape?: RunnerShape;
  limits?: Partial<Environment['limits']>;
};

function aws(name: 'dev' | 'prod', outputs: Outputs, { shape = 'standard', limits, ...choices }: Choices): Environment {
  const digest = digests[name];
  const image = (repository: string, part: keyof typeof digest) =>
    digest[part] === null ? '' : `${repository}@${digest[part]}`;
  return {
    name,
    podSecurityVersion: 'v1.35',
    images: {
      controller: image(outputs.controllerRepositoryUrl, 'controller'),
      runner: image(outputs.runnerRepositoryUrl, 'runner'),
      egress: image(outputs.egressRepositoryUrl, 'egress'),
      console: image(outputs.consoleRepositoryUrl, 'console'),
      pause: 'registry.k8s.io/pause:3.10@sha256:ee6521f290b2168b6e0935a181d4cff9be1ac3f505666ef0e3c98fae8199917a',
    },
    // `doctor --cluster --before ours` says what a change of this would cut off.
    apiNamespace: 'existing',
    clusterIps: clusterIps(outputs.serviceCidr),
    // The VPC CNI applies policies both before and after the Service's address is translated to the control plane's
    // in the VPC. The interface endpoints of STS and KMS are in the VPC too.
    apiServer: { cidrs: [`${address(outputs.serviceCidr, 1)}/32`, outputs.vpcCidr], ports: [443] },
    // Supabase's database and pooler, on the internet, with the authority's certificate from its dashboard as `ca`. A database
    // in the VPC: its subnets instead.
    database: { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: [...NOT_PUBLIC] } }], ports: [5432, 6543] },
    controllerReachesPublicHttps: true,
    ownCidrs: [outputs.vpcCidr, outputs.serviceCidr, ...outputs.natAddresses.map(nat => `${nat}/32`)],
    privateSites: { cidrs: [], peers: [] },
    roles: { uploader: outputs.uploaderRoleArn, controller: outputs.controllerRoleArn },
    profiles: {
      keyArn: outputs.profilesKeyArn,
      endpoints: { to: [{ ipBlock: { cidr: outputs.vpcCidr } }], ports: [443] },
    },
    artifacts: {
      bucket: outputs.artifactsBucket,
      region: outputs.region,
      // The regional name resolves to an interface endpoint inside the VPC, which the egress proxy refuses like any
      // private address; the global name resolves to a public one.
      endpoints: { sts: 'https://sts.amazonaws.com' },
    },
    replicas: { controller: 2, egress: 2 },
    runner: resourcesOfShape(shape),
    limits: { ...LIMITS, ...limits },
    secretStore: 'vault-sql',
    monitoringNamespace: 'monitoring',
    gitops: GITOPS,
    ...choices,
  };
}

/** Every environment, by name. */
export const ENVIRONMENTS: Readonly<Record<Environment['name'], Environment>> = {
  local,
  // Cheaper rather than faster: nodes are added when a runner needs one (Pulumi.dev.yaml: browserNodes.min 0).
  dev: aws('dev', readOutputs('dev'), {
    spareRunners: 0,
    logLevel: 'debug',
    limits: { capacity: 20, poolIdle: 1 },
  }),
  // 500 sessions and a pool for them. A node of Pulumi.prod.yaml holds 120 runners: the placeholders keep a quarter of one free, enough
  // for the minutes that the next one takes.
  prod: aws('prod', readOutputs('prod'), {
    shape: 'lean',
    spareRunners: 30,
    logLevel: 'info',
    limits: { capacity: 520, poolIdle: 20 },
    // The pool grows with the demand: 60 warm runners are enough for 4 claims a second with starts of 10 s, eight times as many as 500
    // sessions of ten minutes make on average. They take half a node, while there is such demand and for a minute after it.
    settings: { controller: { [ENV.poolIdleMax]: '60' } },
  }),
};
