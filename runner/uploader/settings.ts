import * as z from 'zod';
import { ENV } from '../../contract/names.ts';
import { decimal, httpUrl, parseEnvironment, type SettingsOf } from '../../process/environment.ts';

const COMMON = {
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  outputDir: [ENV.outputDir, z.string().min(1)],
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
  runnerId: [ENV.runnerId, z.uuid({ error: 'must be a UUID' })],
  /** Name of the bucket. */
  bucket: [
    ENV.artifactStore,
    z
      .string()
      .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/?$/, 'must be s3://<bucket>')
      .transform(text => text.slice('s3://'.length).replace(/\/$/, '')),
  ],
  egressUrl: [ENV.egressUrl, httpUrl().optional()],
  uploadSeconds: [ENV.uploadSeconds, decimal(0.001, 3_600).default(90)],
  awsRegion: [ENV.awsRegion, z.string().min(1)],
  awsS3Endpoint: [ENV.awsS3Endpoint, z.url({ error: 'must be a URL' }).optional()],
} as const;

export type OnceSettings = SettingsOf<typeof ONCE>;
export type SidecarSettings = SettingsOf<typeof SIDECAR>;

/** Both read the uploader's environment. They throw EnvironmentError. */
export const onceSettings = (environment: NodeJS.ProcessEnv): OnceSettings =>
  parseEnvironment('uploader', ONCE, environment);
export const sidecarSettings = (environment: NodeJS.ProcessEnv): SidecarSettings =>
  parseEnvironment('uploader', SIDECAR, environment);
