import * as z from 'zod';
import { ENV } from '../../contract/names.ts';
import { decimal, httpUrl, parseEnvironment, type SettingsOf } from '../../process/environment.ts';

const COMMON = {
  /** The controller as the uploader reaches it. */
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  /** Folder from which it uploads: that of its runner. */
  outputDir: [ENV.outputDir, z.string().min(1)],
  /** The least severe log lines that are written. */
  logLevel: [ENV.logLevel, z.string().default('info')],
} as const;

/** One run over the folder of a dead runner of this machine. */
const ONCE = {
  ...COMMON,
  /** URL of the folder, with a slash at its end. */
  artifactStore: [
    ENV.artifactStore,
    z
      .url({ protocol: /^file$/, error: 'must be a file: URL of a folder' })
      .transform(text => new URL(`${text.replace(/\/+$/, '')}/`)),
  ],
} as const;

/** The sidecar of a pod. The AWS SDK reads role, token and endpoints from AWS_* by itself. */
export const SIDECAR = {
  ...COMMON,
  /** Id of its runner. */
  runnerId: [ENV.runnerId, z.uuid({ error: 'must be a UUID' })],
  /** The bucket that takes videos, files and pages. */
  bucket: [
    ENV.artifactStore,
    z
      .string()
      .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/?$/, 'must be s3://<bucket>')
      .transform(text => text.slice('s3://'.length).replace(/\/$/, '')),
  ],
  /** The egress proxy as the uploader reaches it. */
  egressUrl: [ENV.egressUrl, httpUrl().optional()],
  /** Seconds that it has from its SIGTERM; less than what is left of the grace period of its pod then. */
  uploadSeconds: [ENV.uploadSeconds, decimal(0.001, 3_600).default(90)],
  /** Region of the bucket. */
  awsRegion: [ENV.awsRegion, z.string().min(1)],
  /** An S3 server other than AWS's. */
  awsS3Endpoint: [ENV.awsS3Endpoint, z.url({ error: 'must be a URL' }).optional()],
} as const;

export type OnceSettings = SettingsOf<typeof ONCE>;
export type SidecarSettings = SettingsOf<typeof SIDECAR>;

/** Both read the uploader's environment. They throw EnvironmentError. */
export const onceSettings = (environment: NodeJS.ProcessEnv): OnceSettings =>
  parseEnvironment('uploader', ONCE, environment);
export const sidecarSettings = (environment: NodeJS.ProcessEnv): SidecarSettings =>
  parseEnvironment('uploader', SIDECAR, environment);
