import { resolve } from 'node:path';
import * as z from 'zod';
import { SNAPSHOTS, TOOLSETS } from '../contract/assignment.ts';
import { ENV, PORTS } from '../contract/names.ts';
import { KEEP_PAGES } from '../contract/page-names.ts';
import { controllerKeys } from '../contract/tokens.ts';
import {
  choice,
  derived,
  type Fault,
  httpUrl,
  integer,
  parseEnvironment,
  portSchema,
  type SettingsOf,
} from '../process/environment.ts';
import { DEFAULT_LIMITS } from './browser/limits.ts';
import { TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN } from './budget/fit.ts';
import { DEFAULT_FILE_LIMITS } from './files/limits.ts';

/** The runner changes its working directory, so paths are made absolute here. */
const pathSchema = () =>
  z
    .string()
    .min(1)
    .transform(text => resolve(text));

const origins = z.string().transform((text, context): readonly string[] => {
  const list = text.split(',').map(origin => origin.trim());
  const wrong = list.find(origin => URL.parse(origin)?.origin !== origin);
  if (wrong === undefined) return list;
  context.addIssue({
    code: 'custom',
    message: `"${wrong}" is no origin; write scheme://host[:port], comma-separated`,
  });
  return z.NEVER;
});

const spki = z
  .string()
  .regex(
    /^[A-Za-z0-9+/]{43}=(,[A-Za-z0-9+/]{43}=)*$/,
    'must be base64 SHA-256 digests of public keys, comma-separated',
  );

/** What one runner process is told by its environment. Nothing in it is secret. */
export const RUNNER_SETTINGS = {
  runnerId: [ENV.runnerId, z.uuid({ error: 'must be a UUID' })],
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  controllerKeys: [ENV.controllerJwks, derived('a JWKS (JSON) with at least one Ed25519 key', controllerKeys)],
  host: [ENV.runnerHost, z.string().min(1).default('127.0.0.1')],
  /** 0: any free port, written to `portFile`. */
  port: [ENV.runnerPort, portSchema().default(PORTS.runner)],
  portFile: [ENV.portFile, pathSchema().optional()],
  outputDir: [ENV.outputDir, pathSchema()],
  /** `stdin`: the browser is elsewhere; the address of its CDP, a secret, is all that standard input has. */
  remoteBrowser: [ENV.remoteBrowser, choice('stdin').optional()],
  chromiumPath: [ENV.chromiumPath, pathSchema().optional()],
  chromiumSandbox: [
    ENV.chromiumSandbox,
    choice('on', 'off')
      .default('on')
      .transform(text => text === 'on'),
  ],
  ffmpegPath: [ENV.ffmpegPath, z.string().min(1).default('ffmpeg')],
  checkpointSeconds: [ENV.checkpointSeconds, integer(0, 86_400).default(300)],
  freezeSeconds: [ENV.freezeSeconds, integer(0, 86_400).default(0)],
  browserMemoryMb: [ENV.browserMemoryMb, integer(512, 1_048_576).optional()],
  runnerMemoryMb: [ENV.runnerMemoryMb, integer(128, 1_048_576).optional()],
  downloadMb: [ENV.downloadMb, integer(0, 1_048_576).default(DEFAULT_LIMITS.downloadMb)],
  downloadsMb: [ENV.downloadsMb, integer(0, 1_048_576).default(DEFAULT_LIMITS.downloadsMb)],
  downloadsMax: [ENV.downloadsMax, integer(0, 100_000).default(DEFAULT_LIMITS.downloadsMax)],
  fileMb: [ENV.fileMb, integer(0, 1_048_576).default(DEFAULT_FILE_LIMITS.fileMb)],
  filesMb: [ENV.filesMb, integer(0, 1_048_576).default(DEFAULT_FILE_LIMITS.filesMb)],
  filesMax: [ENV.filesMax, integer(0, 100_000).default(DEFAULT_FILE_LIMITS.filesMax)],
  egressUrl: [ENV.egressUrl, httpUrl().optional()],
  chromiumSpki: [ENV.chromiumSpki, spki.optional()],
  toolset: [ENV.toolset, choice(...TOOLSETS).default('playwright')],
  snapshot: [ENV.snapshot, choice(...SNAPSHOTS).default('changes')],
  keepPages: [ENV.keepPages, choice(...KEEP_PAGES).default('last')],
  tokensMax: [ENV.answerTokens, integer(TOKENS_MIN, TOKENS_MAX).default(TOKENS_DEFAULT)],
  imageText: [
    ENV.imageText,
    choice('on', 'off')
      .default('off')
      .transform(text => text === 'on'),
  ],
  insecureLoginOrigins: [ENV.insecureLoginOrigins, origins.default([])],
  mcpOrigins: [ENV.mcpOrigins, origins.default([])],
  logLevel: [ENV.logLevel, choice('trace', 'debug', 'info', 'warn', 'error', 'fatal').default('info')],
} as const;

export type RunnerSettings = SettingsOf<typeof RUNNER_SETTINGS>;

function findFaults({ port, portFile, remoteBrowser, egressUrl, freezeSeconds }: RunnerSettings): Fault[] {
  const faults: Fault[] = [];
  if (port === 0 && portFile === undefined)
    faults.push([ENV.portFile, `is not set, and ${ENV.runnerPort}=0 needs it: a file for the port`]);
  if (remoteBrowser !== undefined && egressUrl !== undefined)
    faults.push([ENV.egressUrl, 'is wrong: the traffic of a browser elsewhere does not pass a proxy of ours']);
  if (remoteBrowser !== undefined && freezeSeconds > 0)
    faults.push([ENV.freezeSeconds, 'is wrong: a browser elsewhere cannot be stopped while it is idle']);
  return faults;
}

/** Reads the runner's environment. Throws EnvironmentError. */
export const runnerSettings = (environment: Readonly<Record<string, unknown>>): RunnerSettings =>
  parseEnvironment('runner', RUNNER_SETTINGS, environment, findFaults);
