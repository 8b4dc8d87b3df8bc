import { createHash } from 'node:crypto';
import type { k8s } from 'cdk8s-plus-28';
import { ENV, PORTS, SERVICES } from '../../contract/names.ts';
import type { Environment, FurtherSettings } from '../environment-type.ts';
import { SECRET_SETTINGS } from '../secrets.ts';
import { EGRESS_URL } from './runner-endpoints.ts';

/** How long established connections of a stopping proxy may last; runners open new ones to the other replica. */
export const EGRESS_GRACE_SECONDS = 60;
/** A stopping replica finishes the session starts that it leads; a start may take two minutes (O18). */
export const START_SECONDS = 120;

export const artifactStore = ({ artifacts }: Environment): string => `s3://${artifacts.bucket}`;

/** Where the uploader's SDK connects: a custom endpoint has the bucket in its path, S3 itself in the host name. */
export const artifactEndpoints = ({ artifacts: { bucket, region, endpoints } }: Environment): readonly string[] => [
  endpoints.s3 ?? `https://${bucket}.s3.${region}.amazonaws.com`,
  endpoints.sts ?? `https://sts.${region}.amazonaws.com`,
];

type Values = Readonly<Record<string, string>>;

/** Adds further settings. Throws for one that would be in two places: the environment has a field for it, or it belongs into a Secret. */
export function withFurther(own: Values, further: FurtherSettings = {}): Values {
  const twice = Object.keys(further).find(name => name in own || SECRET_SETTINGS.has(name));
  if (twice === undefined) return { ...own, ...further };
  const where = SECRET_SETTINGS.has(twice) ? 'a Secret holds it' : 'other fields of the environment give it';
  throw new Error(`manifests/environments.ts: settings cannot have ${twice}: ${where}.`);
}

/** Settings of the controller that are not secret; `controller/config.ts` parses them. */
export const controllerSettings = (env: Environment): Values => withFurther(ownSettings(env), env.settings?.controller);

const ownSettings = (env: Environment): Values => ({
  [ENV.environmentName]: env.name,
  [ENV.controllerPort]: String(PORTS.controller),
  [ENV.logLevel]: env.logLevel,
  [ENV.provider]: 'kubernetes',
  [ENV.dataDir]: '/var/lib/omicron',
  [ENV.secretStore]: env.secretStore,
  ...(env.database.tls ? { [ENV.databaseTls]: env.database.tls } : {}),
  ...(env.database.ca ? { [ENV.databaseCa]: env.database.ca } : {}),
  [ENV.egressUrl]: EGRESS_URL,
  [ENV.artifactStore]: artifactStore(env),
  [ENV.artifactEndpoints]: artifactEndpoints(env).join(','),
  // With a role it looks at the bucket, and reads files of it.
  ...(env.roles ? { [ENV.awsRegion]: env.artifacts.region } : {}),
  ...profileSettings(env),
  ...gatewaySettings(env),
  ...(env.console ? { [ENV.consoleUrl]: env.console.url } : {}),
  [ENV.capacity]: String(env.limits.capacity),
  [ENV.userLimit]: String(env.limits.userLimit),
  [ENV.poolIdle]: String(env.limits.poolIdle),
  [ENV.poolBurst]: String(env.limits.poolBurst),
  [ENV.maxSessionMinutes]: String(env.limits.maxSessionMinutes),
  [ENV.artifactsRetentionDays]: String(env.limits.retentionDays),
  [ENV.pagesRetentionDays]: String(env.limits.pagesRetentionDays),
  [ENV.startSeconds]: String(START_SECONDS),
});

const profileSettings = (env: Environment): Values =>
  env.profiles === undefined
    ? {}
    : {
        [ENV.profileStore]: artifactStore(env),
        ...(env.profiles.keyArn ? { [ENV.profileKmsKey]: env.profiles.keyArn } : {}),
        [ENV.awsRegion]: env.artifacts.region,
        ...(env.artifacts.webIdentityRole ? webIdentitySettings(env.artifacts) : {}),
        ...hibernationSettings(env.profiles),
      };

const hibernationSettings = ({ hibernation }: NonNullable<Environment['profiles']>): Values =>
  hibernation === undefined
    ? {}
    : {
        [ENV.hibernateSeconds]: String(hibernation.idleSeconds),
        [ENV.hibernateForCapacitySeconds]: String(hibernation.forCapacitySeconds),
        [ENV.hibernatedHours]: String(hibernation.keptHours),
      };

/** Where EKS's webhook mounts the token with which a pod assumes its role. */
export const IRSA = { volume: 'aws-iam-token', path: '/var/run/secrets/eks.amazonaws.com/serviceaccount' } as const;

/** What the webhook would set, and the servers that take the place of AWS's. */
export const webIdentitySettings = ({ endpoints, webIdentityRole }: Environment['artifacts']): Values => ({
  ...(endpoints.s3 ? { [ENV.awsS3Endpoint]: endpoints.s3 } : {}),
  ...(endpoints.sts ? { [ENV.awsStsEndpoint]: endpoints.sts } : {}),
  ...(webIdentityRole
    ? { [ENV.awsRoleArn]: webIdentityRole, [ENV.awsWebIdentityTokenFile]: `${IRSA.path}/token` }
    : {}),
});

const gatewaySettings = ({ gateway }: Environment): Values =>
  gateway === undefined
    ? {}
    : {
        [ENV.gatewayUrl]: gateway.url,
        [ENV.gatewayIssuer]: gateway.issuer,
        ...(gateway.audience ? { [ENV.gatewayAudience]: gateway.audience } : {}),
        ...(gateway.userClaim ? { [ENV.gatewayUserClaim]: gateway.userClaim } : {}),
        ...(gateway.toolset ? { [ENV.gatewayToolset]: gateway.toolset } : {}),
        ...(gateway.liveUrl ? { [ENV.liveUrl]: gateway.liveUrl } : {}),
      };

/** Settings of the egress proxy that are not secret; `egress/config.ts` parses them. */
export const egressSettings = (env: Environment): Values =>
  withFurther(
    {
      [ENV.controllerUrl]: `http://${SERVICES.controller}:${PORTS.controller}`,
      [ENV.egressPort]: String(PORTS.egress),
      [ENV.egressAdminPort]: String(PORTS.egressAdmin),
      [ENV.egressDeniedCidrs]: env.ownCidrs.join(','),
      [ENV.egressAllowedCidrs]: env.privateSites.cidrs.join(','),
      [ENV.egressGraceSeconds]: String(EGRESS_GRACE_SECONDS),
    },
    env.settings?.egress,
  );

/** Changes with the settings, so that a change rolls the pods. */
export const digestOf = (settings: Values): string =>
  createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16);

/** Every key of a Secret as an environment variable of that name. */
export const fromSecret = (secret: { name: string; keys: readonly string[] }): k8s.EnvVar[] =>
  secret.keys.map(key => ({ name: key, valueFrom: { secretKeyRef: { name: secret.name, key } } }));
