import { createHash } from 'node:crypto';
import type { k8s } from 'cdk8s-plus-28';
import { ENV, PORTS, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { COLLECTOR_HEADERS } from '../secrets.ts';
import { byField, fixedSetting, type Given, preset, resolveSettings } from '../settings.ts';
import { telemetrySettings } from '../telemetry.ts';
import { EGRESS_URL } from './runner-endpoints.ts';

/** How long established connections of a stopping proxy may last; runners open new ones to the other replica. */
export const EGRESS_GRACE_SECONDS = 60;
/** A stopping replica finishes the session starts that it leads; a start may take two minutes (O18). */
export const START_SECONDS = 120;

/** Reasons of settings that no environment has otherwise. */
export const FIXED = {
  port: 'Services, probes and NetworkPolicies name this port',
  address: 'the Service of this name is the only one that the NetworkPolicies open',
  volume: 'a volume is mounted there',
  pod: 'each pod has its own',
  pods: 'runners are pods here, and only runners that are processes of one machine use it',
} as const;

export const artifactStoreUrl = ({ artifacts }: Environment): string => `s3://${artifacts.bucket}`;

/** Servers to which the uploader's SDK connects: a custom endpoint has the bucket in its path, S3 itself in the host name. */
export const artifactEndpoints = ({ artifacts: { bucket, region, endpoints } }: Environment): readonly string[] => [
  endpoints.s3 ?? `https://${bucket}.s3.${region}.amazonaws.com`,
  endpoints.sts ?? `https://sts.${region}.amazonaws.com`,
];

type Values = Readonly<Record<string, string>>;
type GivenSettings = Readonly<Record<string, Given>>;

/** Settings of the controller that are not secret; `controller/settings.ts` parses them. */
export const renderControllerSettings = (env: Environment): Values =>
  resolveSettings(givenToController(env), env.settings?.controller);

const givenToController = (env: Environment): GivenSettings => ({
  [ENV.environmentName]: byField('name', env.name),
  [ENV.controllerPort]: fixedSetting(String(PORTS.controller), FIXED.port),
  [ENV.logLevel]: byField('logLevel', env.logLevel),
  [ENV.provider]: fixedSetting('kubernetes', 'runners are pods here'),
  [ENV.dataDir]: fixedSetting('/var/lib/omicron', FIXED.volume),
  [ENV.secretStore]: byField('secretStore', env.secretStore),
  [ENV.databaseTls]: byField('database.tls', env.database.tls),
  [ENV.databaseCa]: byField('database.ca', env.database.ca),
  [ENV.egressUrl]: fixedSetting(EGRESS_URL, FIXED.address),
  // webhooks reach no more of the deployment than browsers do
  [ENV.egressDeniedCidrs]: byField('ownCidrs', env.ownCidrs.join(',')),
  [ENV.artifactStore]: byField('artifacts.bucket', artifactStoreUrl(env)),
  [ENV.artifactEndpoints]: byField('artifacts.endpoints', artifactEndpoints(env).join(',')),
  // With a role it looks at the bucket, and reads files of it.
  [ENV.awsRegion]: byField('artifacts.region', env.roles || env.profiles ? env.artifacts.region : undefined),
  ...profileSettings(env),
  ...gatewaySettings(env),
  [ENV.consoleUrl]: byField('console.url', env.console?.url),
  ...telemetrySettings(env),
  [ENV.capacity]: byField('limits.capacity', String(env.limits.capacity)),
  [ENV.userLimit]: byField('limits.userLimit', String(env.limits.userLimit)),
  [ENV.poolIdle]: byField('limits.poolIdle', String(env.limits.poolIdle)),
  [ENV.poolBurst]: byField('limits.poolBurst', String(env.limits.poolBurst)),
  [ENV.maxSessionMinutes]: byField('limits.maxSessionMinutes', String(env.limits.maxSessionMinutes)),
  [ENV.artifactsRetentionDays]: byField('limits.retentionDays', String(env.limits.retentionDays)),
  [ENV.keepFiles]: byField('runner.keepFiles', env.runner.keepFiles),
  [ENV.pagesRetentionDays]: byField('limits.pagesRetentionDays', String(env.limits.pagesRetentionDays)),
  [ENV.startSeconds]: preset(START_SECONDS),
  [ENV.podAddress]: fixedSetting(undefined, FIXED.pod),
  [ENV.publicUrl]: fixedSetting(undefined, FIXED.pods),
  [ENV.localRunnerMemoryMb]: fixedSetting(undefined, FIXED.pods),
  [ENV.kernelUrl]: fixedSetting(undefined, FIXED.pods),
  [ENV.kernelApiKey]: fixedSetting(undefined, FIXED.pods),
  [ENV.secretFileKey]: fixedSetting(undefined, 'secretStore of an environment is never a file'),
});

const profileSettings = ({ profiles, artifacts, ...env }: Environment): GivenSettings => ({
  [ENV.profileStore]: byField('profiles', profiles && artifactStoreUrl({ artifacts, ...env })),
  [ENV.profileKmsKey]: byField('profiles.keyArn', profiles?.keyArn),
  ...webIdentitySettings(artifacts, profiles !== undefined && artifacts.webIdentityRole !== undefined),
  [ENV.hibernate]: byField('profiles.hibernation.when', profiles?.hibernation?.when),
  [ENV.hibernatedHours]: byField('profiles.hibernation.keptHours', text(profiles?.hibernation?.keptHours)),
});

const text = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value));

/** Path at which EKS's webhook mounts the token with which a pod assumes its role. */
export const IRSA = { volume: 'aws-iam-token', path: '/var/run/secrets/eks.amazonaws.com/serviceaccount' } as const;

/** Variables that the webhook would set, and the servers that stand in for AWS's; nothing for a program that needs neither. */
export const webIdentitySettings = (
  { endpoints, webIdentityRole }: Environment['artifacts'],
  needed: boolean,
): GivenSettings => {
  const token = webIdentityRole && `${IRSA.path}/token`;
  return {
    [ENV.awsS3Endpoint]: byField('artifacts.endpoints.s3', needed ? endpoints.s3 : undefined),
    [ENV.awsStsEndpoint]: byField('artifacts.endpoints.sts', needed ? endpoints.sts : undefined),
    [ENV.awsRoleArn]: byField('artifacts.webIdentityRole', needed ? webIdentityRole : undefined),
    [ENV.awsWebIdentityTokenFile]: byField('artifacts.webIdentityRole', needed ? token : undefined),
  };
};

const gatewaySettings = ({ gateway }: Environment): GivenSettings => ({
  [ENV.gatewayUrl]: byField('gateway.url', gateway?.url),
  [ENV.gatewayIssuer]: byField('gateway.issuer', gateway?.issuer),
  [ENV.gatewayAudience]: byField('gateway.audience', gateway?.audience),
  [ENV.gatewayUserClaim]: byField('gateway.userClaim', gateway?.userClaim),
  [ENV.gatewayToolset]: byField('gateway.toolset', gateway?.toolset),
  [ENV.liveUrl]: byField('gateway.liveUrl', gateway?.liveUrl),
});

/** Settings of the egress proxy that are not secret; `egress/settings.ts` parses them. */
export const renderEgressSettings = (env: Environment): Values =>
  resolveSettings(
    {
      [ENV.controllerUrl]: fixedSetting(`http://${SERVICES.controller}:${PORTS.controller}`, FIXED.address),
      [ENV.egressPort]: fixedSetting(String(PORTS.egress), FIXED.port),
      [ENV.egressAdminPort]: fixedSetting(String(PORTS.egressAdmin), FIXED.port),
      [ENV.egressDeniedCidrs]: byField('ownCidrs', env.ownCidrs.join(',')),
      [ENV.egressAllowedCidrs]: byField('privateSites.cidrs', env.privateSites.cidrs.join(',')),
      [ENV.egressGraceSeconds]: preset(EGRESS_GRACE_SECONDS),
      ...telemetrySettings(env),
    },
    env.settings?.egress,
  );

/** Changes with the settings, so that a change rolls the pods. The Helm chart computes it too: `omicron.settingsDigest`. */
export const digestSettings = (settings: Values): string =>
  createHash('sha256')
    .update(
      Object.keys(settings)
        .sort()
        .map(name => `${name}=${settings[name]}\n`)
        .join(''),
    )
    .digest('hex')
    .slice(0, 16);

/** Every key of a Secret as an environment variable of that name. */
export const fromSecret = (secret: { name: string; keys: readonly string[] }): k8s.EnvVar[] =>
  secret.keys.map(key => ({ name: key, valueFrom: { secretKeyRef: { name: secret.name, key } } }));

/** Keys that a program's Secret may have beside its own, where there is a collector. */
export const collectorKeys = ({ collector }: Environment): readonly string[] => (collector ? [COLLECTOR_HEADERS] : []);
