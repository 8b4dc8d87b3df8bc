import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Connection } from '../../client/controller-api.ts';
import { ENV } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { StackFolder } from '../../local/stack-folder.ts';

/** What every command gets. */
export interface Context {
  environment: Record<string, string | undefined>;
  /** Folder of the local stack. */
  folder: string;
  /** Ends on Ctrl-C. */
  signal: AbortSignal;
}

/** The controller that the environment names, else the local stack of the folder; null: neither. */
export async function findController({ environment, folder }: Context): Promise<Connection | null> {
  const url = environment[ENV.controllerUrl];
  const serviceSecret = environment[ENV.serviceSecret];
  if (!url) return new StackFolder(folder).running();
  if (!serviceSecret)
    throw new OmicronError('not_configured', `${ENV.controllerUrl} is set; set ${ENV.serviceSecret} too.`);
  return { url, serviceSecret };
}

/** Throws `not_configured` when there is no controller to talk to. */
export async function connectController(context: Context): Promise<BrowserSessions> {
  const connection = await findController(context);
  if (connection) return new BrowserSessions(connection);
  throw new OmicronError(
    'not_configured',
    `No stack runs in ${context.folder}: start one with "omicron-browser up", or set ${ENV.controllerUrl} and ${ENV.serviceSecret}.`,
  );
}
