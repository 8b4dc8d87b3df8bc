import { expect } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { command, type Finished, newFolder, shell, type Up, up } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { runHere } from './run-here.ts';

/** A running `omicron-browser up` whose browsers reach the demo site, and commands that act on it. */
export interface CommandStack extends AsyncDisposable {
  readonly stack: Up;
  readonly site: DemoSite;
  /** A command as a process of its own. */
  inShell(...args: string[]): Promise<Finished>;
  /** A command in this process. */
  run(...args: string[]): Promise<Finished>;
  /** A command in this process, with text at its standard input. */
  runWith(input: string, ...args: string[]): Promise<Finished>;
}

/** Its database is in the run's Postgres: creating one in the folder takes six seconds of a core. */
export async function startCommandStack(): Promise<CommandStack> {
  await using started = new AsyncDisposableStack();
  const site = await startDemoSite();
  started.defer(() => site.close());
  const { hostname, port } = new URL(site.url);
  const stack = await up(await newFolder(), {
    [ENV.databaseUrl]: await migratedDatabaseUrl(),
    OMICRON_USER_LIMIT: '1',
    OMICRON_MCP_TOKEN_SECONDS: '600',
    OMICRON_EGRESS_ALLOWED_CIDRS: `${hostname}/32`,
    OMICRON_INSECURE_LOGIN_ORIGINS: site.url,
  });
  started.defer(() => stack.dispose());
  const runWith = (input: string, ...args: string[]) =>
    runHere(['--folder', stack.folder, ...args], { environment: shell(), input });
  const policy = JSON.stringify({ version: 1, sites: { ports: [443, Number(port)] } });
  commandOutput(await runWith(policy, 'policy', 'apply', '-'));
  const parts = started.move();
  return {
    ...{ stack, site, runWith },
    inShell: (...args) => command(['--folder', stack.folder, ...args]),
    run: (...args) => runWith('', ...args),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** JSON that a command printed which did what it was asked to. */
export const commandOutput = ({ code, stdout, stderr }: Finished) => {
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
};

/** Code and line of a command that refused. */
export const commandRefusal = ({ code, stdout, stderr }: Finished) => {
  expect(stdout).toBe('');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  return { code, line: stderr.trimEnd() };
};
