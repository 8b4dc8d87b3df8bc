import { createHash } from 'node:crypto';
import type { k8s } from 'cdk8s-plus-28';
import { ENV, PORTS, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../environment.ts';
import { EGRESS_URL } from './runner-ways.ts';

/** Established connections of a stopping proxy may last so long; runners dial new ones to the other replica. */
export const EGRESS_GRACE_SECONDS = 60;
/** A replica that stops finishes the starts it leads, and a start has two minutes (O18). */
export const START_SECONDS = 120;

export const artifactStore = ({ artifacts }: Environment): string => `s3://${artifacts.bucket}`;

/** Where the SDK of the uploader goes: an endpoint of its own knows buckets by path, S3 itself by host name. */
export const artifactEndpoints = ({ artifacts: { bucket, region, endpoints } }: Environment): readonly string[] => [
  endpoints.AWS_ENDPOINT_URL_S3 ?? `https://${bucket}.s3.${region}.amazonaws.com`,
  endpoints.AWS_ENDPOINT_URL_STS ?? `https://sts.${region}.amazonaws.com`,
];

/** Settings of the controller that are not secret; names and ranges are those of `controller/config.ts`. */
export const controllerSettings = (env: Environment): Readonly<Record<string, string>> => ({
  OMICRON_ENV: env.name,
  OMICRON_PORT: String(PORTS.controller),
  OMICRON_LOG_LEVEL: env.logLevel,
  OMICRON_PROVIDER: 'kubernetes',
  OMICRON_DATA_DIR: '/var/lib/omicron',
  OMICRON_SECRET_STORE: env.secretStore,
  [ENV.egressUrl]: EGRESS_URL,
  [ENV.artifactStore]: artifactStore(env),
  OMICRON_ARTIFACT_ENDPOINTS: artifactEndpoints(env).join(','),
  OMICRON_CAPACITY: String(env.limits.capacity),
  OMICRON_USER_LIMIT: String(env.limits.userLimit),
  OMICRON_POOL_IDLE: String(env.limits.poolIdle),
  OMICRON_POOL_BURST: String(env.limits.poolBurst),
  OMICRON_MAX_SESSION_MINUTES: String(env.limits.maxSessionMinutes),
  OMICRON_ARTIFACTS_RETENTION_DAYS: String(env.limits.retentionDays),
  OMICRON_START_SECONDS: String(START_SECONDS),
});

/** Settings of the egress proxy that are not secret; names are those of `egress/config.ts`. */
export const egressSettings = (env: Environment): Readonly<Record<string, string>> => ({
  [ENV.controllerUrl]: `http://${SERVICES.controller}:${PORTS.controller}`,
  OMICRON_EGRESS_PORT: String(PORTS.egress),
  OMICRON_EGRESS_ADMIN_PORT: String(PORTS.egressAdmin),
  OMICRON_EGRESS_DENIED_CIDRS: env.ownCidrs.join(','),
  OMICRON_EGRESS_ALLOWED_CIDRS: env.standIns.cidrs.join(','),
  OMICRON_EGRESS_GRACE_SECONDS: String(EGRESS_GRACE_SECONDS),
});

/** Changes with the settings, so that changed ones roll the pods. */
export const digestOf = (settings: Readonly<Record<string, string>>): string =>
  createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16);

/** Every key of a Secret as the variable of its name. */
export const fromSecret = (secret: { name: string; keys: readonly string[] }): k8s.EnvVar[] =>
  secret.keys.map(key => ({ name: key, valueFrom: { secretKeyRef: { name: secret.name, key } } }));
