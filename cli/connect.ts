import { BrowserSessions } from '../client/browser-sessions.ts';
import type { Connection } from '../client/controller-api.ts';
import { ENV } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import { StackFolder } from '../local/stack-folder.ts';
import { findUnknownSettings } from '../process/unknown-settings.ts';
import type { Output } from './output.ts';

/** Passed to every command. */
export interface Cli {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the local stack. */
  readonly folder: string;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Takes the command's answer. */
  readonly out: Output;
  readonly stdin: NodeJS.ReadStream;
  /** Exit code unless an error decides it; a command that reports failures in its answer sets it. */
  exitCode: number;
  /** Writes to stderr, without a line end. */
  prompt(text: string): void;
  /** Writes a line to stderr. */
  progress(line: string): void;
}

/** The controller that the environment names, else the local stack of the folder; null: neither. */
export async function findController({
  environment,
  folder,
}: Pick<Cli, 'environment' | 'folder'>): Promise<Connection | null> {
  refuseMisspelt(environment);
  const url = environment[ENV.controllerUrl];
  const serviceSecret = environment[ENV.serviceSecret];
  if (!url) return new StackFolder(folder).running();
  if (!serviceSecret)
    throw new OmicronError('not_configured', `${ENV.controllerUrl} is set; set ${ENV.serviceSecret} too.`);
  return { url, serviceSecret };
}

/** Letters by which a misspelt name differs at most: other variables that begin so are an application's own. */
const MISSPELT_MAX = 2;

function refuseMisspelt(environment: Cli['environment']): void {
  const misspelt = findUnknownSettings(environment).find(({ distance }) => distance <= MISSPELT_MAX);
  if (misspelt === undefined) return;
  const { name, nearest } = misspelt;
  throw new OmicronError('not_configured', `${name} is no setting; did you mean ${nearest}? Correct or unset it.`);
}

/** Throws `not_configured` when there is no controller to call. */
export async function connectController(cli: Cli): Promise<BrowserSessions> {
  const connection = await findController(cli);
  if (connection) return new BrowserSessions(connection);
  throw new OmicronError(
    'not_configured',
    `No stack runs in ${cli.folder}: start one with "omicron-browser up", or set ${ENV.controllerUrl} and ${ENV.serviceSecret}.`,
  );
}
