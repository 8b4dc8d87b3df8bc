import { rm } from 'node:fs/promises';
import { pino } from 'pino';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { newFolder, shell } from './machine.ts';

/** A local stack whose browsers reach one site of this machine. */
export interface SiteStack extends AsyncDisposable {
  readonly folder: string;
  readonly site: DemoSite;
  readonly stack: Stack;
  readonly sessions: BrowserSessions;
}

export interface SiteStackOptions {
  settings?: Record<string, string>;
  runnerEnv?: Record<string, string>;
  /** Ports of other sites on the host of the demo site, which browsers may visit too. */
  ports?: readonly number[];
}

/**
 * Starts the demo site and the stack for it. Its database is in the run's Postgres: creating one in the folder takes six seconds of a
 * core.
 */
export async function startSiteStack(
  options: (site: DemoSite) => SiteStackOptions | Promise<SiteStackOptions> = () => ({}),
): Promise<SiteStack> {
  await using started = new AsyncDisposableStack();
  const folder = await newFolder();
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const site = await startDemoSite();
  started.defer(() => site.close());
  const { settings, runnerEnv, ports = [] } = await options(site);
  const { hostname, port } = new URL(site.url);
  const stack = await startStack({
    folder,
    log: pino({ level: 'silent' }),
    databaseUrl: await migratedDatabaseUrl(),
    egress: { allowedCidrs: [`${hostname}/32`] },
    settings,
    runnerEnv: { ...shell(), ...runnerEnv },
  });
  started.defer(() => stack.stop());
  const sessions = new BrowserSessions(stack);
  await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(port), ...ports] } });
  const parts = started.move();
  return { folder, site, stack, sessions, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}
