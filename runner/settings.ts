import { resolve } from 'node:path';
import { z } from 'zod';
import { TOOLSETS, type Toolset } from '../contract/assignment.ts';
import { ENV, PORTS } from '../contract/names.ts';
import { type ControllerKeys, controllerKeys } from '../contract/tokens.ts';

/** What one runner process is told by its environment. Nothing in it is secret. */
export interface RunnerSettings {
  readonly runnerId: string;
  readonly controllerUrl: string;
  readonly controllerKeys: ControllerKeys;
  readonly host: string;
  /** 0: any free port, written to `portFile`. */
  readonly port: number;
  readonly portFile: string | undefined;
  readonly outputDir: string;
  readonly chromiumPath: string | undefined;
  readonly chromiumSandbox: boolean;
  readonly ffmpegPath: string;
  readonly egressUrl: string | undefined;
  readonly chromiumSpki: string | undefined;
  readonly toolset: Toolset;
  readonly insecureLoginOrigins: readonly string[];
  readonly logLevel: string;
}

/** The runner changes its working directory, so paths are made absolute here. */
const path = z
  .string()
  .min(1)
  .transform(text => resolve(text));
const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform(text => text.replace(/\/+$/, ''));

const keys = z.string().transform((text, context): ControllerKeys => {
  try {
    return controllerKeys(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a JWKS (JSON) with at least one Ed25519 key' });
    return z.NEVER;
  }
});

const origins = z.string().transform((text, context): string[] => {
  const list = text.split(',').map(origin => origin.trim());
  const wrong = list.find(origin => URL.parse(origin)?.origin !== origin);
  if (wrong === undefined) return list;
  context.addIssue({ code: 'custom', message: `"${wrong}" is no origin; write scheme://host[:port], comma-separated` });
  return z.NEVER;
});

const spki = z
  .string()
  .regex(
    /^[A-Za-z0-9+/]{43}=(,[A-Za-z0-9+/]{43}=)*$/,
    'must be base64 SHA-256 digests of public keys, comma-separated',
  );

const schema = z.object({
  [ENV.runnerId]: z.uuid('must be a UUID'),
  [ENV.controllerUrl]: httpUrl,
  [ENV.controllerJwks]: keys,
  [ENV.runnerHost]: z.string().min(1).default('127.0.0.1'),
  [ENV.runnerPort]: z.coerce.number().int().min(0).max(65_535).default(PORTS.runner),
  [ENV.portFile]: path.optional(),
  [ENV.outputDir]: path,
  [ENV.chromiumPath]: path.optional(),
  [ENV.chromiumSandbox]: z.enum(['on', 'off'], 'must be "on" or "off"').default('on'),
  [ENV.ffmpegPath]: z.string().min(1).default('ffmpeg'),
  [ENV.egressUrl]: httpUrl.optional(),
  [ENV.chromiumSpki]: spki.optional(),
  [ENV.toolset]: z.enum(TOOLSETS, `must be one of ${TOOLSETS.join(', ')}`).default('playwright'),
  [ENV.insecureLoginOrigins]: origins.default([]),
  [ENV.logLevel]: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info'),
});

/** Thrown for a wrong environment; the message is one line that names the variable. */
export class SettingsError extends Error {}

/** Reads the runner's environment. An empty variable counts as missing. */
export function runnerSettings(env: Record<string, string | undefined>): RunnerSettings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = issue?.path.join('.') ?? 'the environment';
    throw new SettingsError(`${name} ${given[name] === undefined ? 'is missing' : 'is wrong'}: ${issue?.message}`);
  }
  const values = parsed.data;
  if (values[ENV.runnerPort] === 0 && values[ENV.portFile] === undefined)
    throw new SettingsError(`${ENV.portFile} is missing: with ${ENV.runnerPort}=0 it must name a file for the port`);
  return {
    runnerId: values[ENV.runnerId],
    controllerUrl: values[ENV.controllerUrl],
    controllerKeys: values[ENV.controllerJwks],
    host: values[ENV.runnerHost],
    port: values[ENV.runnerPort],
    portFile: values[ENV.portFile],
    outputDir: values[ENV.outputDir],
    chromiumPath: values[ENV.chromiumPath],
    chromiumSandbox: values[ENV.chromiumSandbox] === 'on',
    ffmpegPath: values[ENV.ffmpegPath],
    egressUrl: values[ENV.egressUrl],
    chromiumSpki: values[ENV.chromiumSpki],
    toolset: values[ENV.toolset],
    insecureLoginOrigins: values[ENV.insecureLoginOrigins],
    logLevel: values[ENV.logLevel],
  };
}
