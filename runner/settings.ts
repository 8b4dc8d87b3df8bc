import { resolve } from 'node:path';
import * as z from 'zod';
import { SNAPSHOTS, TOOLSETS } from '../contract/assignment.ts';
import { readAuthorities } from '../contract/authorities.ts';
import { ENV, PORTS } from '../contract/names.ts';
import { KEEP_PAGES } from '../contract/page-names.ts';
import { controllerKeys } from '../contract/tokens.ts';
import {
  choice,
  derivedSetting,
  type Fault,
  httpUrl,
  integer,
  originsSchema,
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

const authoritiesSchema = () =>
  z.string().transform((text, context) => {
    try {
      return readAuthorities(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });

const spki = z
  .string()
  .regex(
    /^[A-Za-z0-9+/]{43}=(,[A-Za-z0-9+/]{43}=)*$/,
    'must be base64 SHA-256 digests of public keys, comma-separated',
  );

/** The settings of one runner process. Nothing in it is secret. */
export const RUNNER_SETTINGS = {
  /** Id of the runner; its starter chooses it. */
  runnerId: [ENV.runnerId, z.uuid({ error: 'must be a UUID' })],
  /** The controller as the runner reaches it. */
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  /** Public keys of the controller, by which assignments and tokens are checked. */
  controllerKeys: [ENV.controllerJwks, derivedSetting('a JWKS (JSON) with at least one Ed25519 key', controllerKeys)],
  /** Address on which it listens. */
  host: [ENV.runnerHost, z.string().min(1).default('127.0.0.1')],
  /** Port on which it listens; 0: any free port, written to `OMICRON_PORT_FILE`. */
  port: [ENV.runnerPort, portSchema().default(PORTS.runner)],
  /** File into which a runner that was started with port 0 writes its port. */
  portFile: [ENV.portFile, pathSchema().optional()],
  /** Folder for videos, files and pages, until the uploader has stored them. */
  outputDir: [ENV.outputDir, pathSchema()],
  /** `stdin`: the browser is elsewhere; standard input has the address of its CDP, a secret, and nothing else. */
  remoteBrowser: [ENV.remoteBrowser, choice('stdin').optional()],
  /** The Chromium to run; by default the one that Playwright installed. */
  chromiumPath: [ENV.chromiumPath, pathSchema().optional()],
  /** Chromium's own sandbox. Without it a page that breaks out of its renderer has the runner. */
  chromiumSandbox: [
    ENV.chromiumSandbox,
    choice('on', 'off')
      .default('on')
      .transform(text => text === 'on'),
  ],
  /** The ffmpeg that encodes recordings. */
  ffmpegPath: [ENV.ffmpegPath, z.string().min(1).default('ffmpeg')],
  /** Seconds between saves of a profile in use; 0: only at the end of its lease, and on demand. */
  checkpointSeconds: [ENV.checkpointSeconds, integer(0, 86_400).default(300)],
  /** Seconds without use after which the browser of a lease that is not held is frozen; 0: never. The manifests set 30. */
  freezeSeconds: [ENV.freezeSeconds, integer(0, 86_400).default(0)],
  /**
   * MiB that all processes of a browser may take together; by default 2,560, and in a container at most 65 % of its
   * limit.
   */
  browserMemoryMb: [ENV.browserMemoryMb, integer(512, 1_048_576).optional()],
  /**
   * MiB that the process of the runner may hold of pages (requests, console lines, answers); by default 512, and in
   * a container at most 20 % of its limit.
   */
  runnerMemoryMb: [ENV.runnerMemoryMb, integer(128, 1_048_576).optional()],
  /** MiB of one download. */
  downloadMb: [ENV.downloadMb, integer(0, 1_048_576).default(DEFAULT_LIMITS.downloadMb)],
  /** MiB of all downloads of a lease. */
  downloadsMb: [ENV.downloadsMb, integer(0, 1_048_576).default(DEFAULT_LIMITS.downloadsMb)],
  /** Number of downloads of a lease. */
  downloadsMax: [ENV.downloadsMax, integer(0, 100_000).default(DEFAULT_LIMITS.downloadsMax)],
  /** MiB of one file that a platform brings in. */
  fileMb: [ENV.fileMb, integer(0, 1_048_576).default(DEFAULT_FILE_LIMITS.fileMb)],
  /** MiB of all files that are brought into a lease. */
  filesMb: [ENV.filesMb, integer(0, 1_048_576).default(DEFAULT_FILE_LIMITS.filesMb)],
  /** Number of files that are brought into a lease. */
  filesMax: [ENV.filesMax, integer(0, 100_000).default(DEFAULT_FILE_LIMITS.filesMax)],
  /** The egress proxy as the runner reaches it; without it the browser reaches what the network allows. */
  egressUrl: [ENV.egressUrl, httpUrl().optional()],
  /**
   * Certificates of authorities, in PEM, that the browser trusts besides its own roots (B6). Host names and dates are checked as for any
   * other. Needs Linux and `certutil`.
   */
  chromiumCa: [ENV.chromiumCa, authoritiesSchema().optional()],
  /**
   * Keys of single servers that the browser accepts without any check, for test systems. Never an authority's key: a chain that
   * contains a certificate with a listed key is trusted for every site, and host names, dates and other errors are not checked.
   */
  chromiumSpki: [ENV.chromiumSpki, spki.optional()],
  /** Toolset of leases that name none. */
  toolset: [ENV.toolset, choice(...TOOLSETS).default('playwright')],
  /** Snapshot mode of results, unless the lease or the call names one. */
  snapshot: [ENV.snapshot, choice(...SNAPSHOTS).default('changes')],
  /** Pages that are kept as artifacts, unless the lease says otherwise: none, the last one, or one for each call. */
  keepPages: [ENV.keepPages, choice(...KEEP_PAGES).default('none')],
  /** Tokens that the texts of an answer take at most, roughly, unless the call has `tokensMax`. */
  tokensMax: [ENV.answerTokens, integer(TOKENS_MIN, TOKENS_MAX).default(TOKENS_DEFAULT)],
  /**
   * `on`: `browser_screenshot` answers its picture as base64 in its JSON text too, unless the call says otherwise
   * (P1).
   */
  imageText: [
    ENV.imageText,
    choice('on', 'off')
      .default('off')
      .transform(text => text === 'on'),
  ],
  /** Exact http origins on which credentials may be filled: for tests and demos. */
  insecureLoginOrigins: [ENV.insecureLoginOrigins, originsSchema()],
  /** Origins whose pages may use `/mcp` and `/live`, and whose hosts a gateway may send as `Host`. */
  mcpOrigins: [ENV.mcpOrigins, originsSchema()],
  /** The least severe log lines that are written. */
  logLevel: [ENV.logLevel, choice('trace', 'debug', 'info', 'warn', 'error', 'fatal').default('info')],
} as const;

export type RunnerSettings = SettingsOf<typeof RUNNER_SETTINGS>;

function findFaults(settings: RunnerSettings): Fault[] {
  const { port, portFile, remoteBrowser, egressUrl, freezeSeconds, chromiumCa } = settings;
  const faults: Fault[] = [];
  if (port === 0 && portFile === undefined)
    faults.push([ENV.portFile, `is not set, and ${ENV.runnerPort}=0 needs it: a file for the port`]);
  if (remoteBrowser !== undefined && egressUrl !== undefined)
    faults.push([ENV.egressUrl, 'is wrong: the traffic of a browser elsewhere does not pass a proxy of ours']);
  if (remoteBrowser !== undefined && chromiumCa !== undefined)
    faults.push([ENV.chromiumCa, 'is wrong: a browser elsewhere has the authorities of its service']);
  if (remoteBrowser !== undefined && freezeSeconds > 0)
    faults.push([ENV.freezeSeconds, 'is wrong: a browser elsewhere cannot be stopped while it is idle']);
  return faults;
}

/** Reads the runner's environment. Throws EnvironmentError. */
export const runnerSettings = (environment: Readonly<Record<string, unknown>>): RunnerSettings =>
  parseEnvironment('runner', RUNNER_SETTINGS, environment, findFaults);
