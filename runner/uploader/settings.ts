import { z } from 'zod';
import { ENV } from '../../contract/names.ts';

const url = z.url({ protocol: /^https?$/ }).transform(text => text.replace(/\/+$/, ''));
const common = {
  [ENV.controllerUrl]: url,
  [ENV.outputDir]: z.string().min(1),
  [ENV.logLevel]: z.string().default('info'),
};

/** One run over the folder of a dead runner of this machine. */
const once = z.object({
  ...common,
  [ENV.artifactStore]: z
    .url({ protocol: /^file$/, error: 'must be a file: URL of a folder' })
    .transform(text => new URL(`${text.replace(/\/+$/, '')}/`)),
});

/** The sidecar of a pod. The AWS SDK reads role, token and endpoints from AWS_* by itself. */
const sidecar = z.object({
  ...common,
  [ENV.runnerId]: z.uuid(),
  [ENV.artifactStore]: z
    .string()
    .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/?$/, 'must be s3://<bucket>')
    .transform(text => text.slice('s3://'.length).replace(/\/$/, '')),
  [ENV.egressUrl]: url.optional(),
  [ENV.uploadSeconds]: z.coerce.number().positive().max(3_600).default(90),
  AWS_REGION: z.string().min(1),
  AWS_ENDPOINT_URL_S3: z.url().optional(),
});

export type OnceSettings = z.infer<typeof once>;
export type SidecarSettings = z.infer<typeof sidecar>;

/** Thrown for a wrong environment; the message is one line that names the variable. */
export class SettingsError extends Error {}

const read = <T extends z.ZodType>(schema: T, env: NodeJS.ProcessEnv): z.output<T> => {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new SettingsError(`${issue?.path.join('.')}: ${issue?.message}`);
};

export const onceSettings = (env: NodeJS.ProcessEnv): OnceSettings => read(once, env);
export const sidecarSettings = (env: NodeJS.ProcessEnv): SidecarSettings => read(sidecar, env);
