import { pino } from 'pino';
import { ENV } from '../../contract/names.ts';
import { findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { StackFolder } from '../../local/stack-folder.ts';
import type { Context } from './connect.ts';

export interface UpOptions {
  port?: number;
  pool?: number;
}

/** The environment's `OMICRON_...` settings are the stack's too: limits, times, log level. */
const settingsOf = (environment: Context['environment']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (/^OMICRON_/.test(name) && value ? [[name, value]] : [])),
  );

/** What a person may say to the runners. */
const passedOn = (environment: Context['environment']): Record<string, string> =>
  Object.fromEntries(
    [ENV.chromiumSandbox, ENV.toolset, ENV.insecureLoginOrigins, ENV.chromiumSpki].flatMap(name => {
      const value = environment[name];
      return value ? [[name, value]] : [];
    }),
  );

/** Starts the local stack as the environment says; its log goes into the folder. */
export async function startHere({ environment, folder }: Context, options: UpOptions = {}): Promise<Stack> {
  const stackFolder = new StackFolder(folder);
  await stackFolder.make();
  const databaseUrl = environment[ENV.databaseUrl];
  return startStack({
    folder,
    log: pino(
      { name: 'controller', level: environment[ENV.logLevel] || 'info' },
      pino.destination({ dest: stackFolder.logFile, mode: 0o600 }),
    ),
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.pool === undefined ? {} : { poolIdle: options.pool }),
    ...(databaseUrl ? { databaseUrl } : {}),
    egress:
      environment.OMICRON_EGRESS === 'off'
        ? 'off'
        : { allowedCidrs: (environment.OMICRON_EGRESS_ALLOWED_CIDRS ?? '').split(/[\s,]+/).filter(Boolean) },
    settings: settingsOf(environment),
    runnerEnv: { ...toolsEnvironment(findTools(environment)), ...passedOn(environment) },
  });
}

/** `up`: the local stack in the foreground, until Ctrl-C. */
export async function up(context: Context, options: UpOptions, print: (line: string) => void): Promise<void> {
  const stack = await startHere(context, options);
  const { folder } = context;
  print(`The controller listens at ${stack.url}; everything it keeps is in ${stack.folder}.

In another terminal, in this folder:
  npx omicron-browser smoke https://example.com
  npx omicron-browser session start --user ada --conversation chat-1
  npx omicron-browser secrets set bakery --user ada --username ada@example.com

For the SDK or another service:
  ${ENV.controllerUrl}=${stack.url}
  ${ENV.serviceSecret}: "serviceSecret" in ${folder}/keys.json

Ctrl-C ends every lease, waits for the recordings and stops; a second one stops at once.`);
  await new Promise<void>(resolve => {
    // the stack's server keeps the process alive until then
    if (context.signal.aborted) resolve();
    else context.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  print('\nStopping ...');
  await stack.stop();
  print('Stopped; nothing is left running.');
}
