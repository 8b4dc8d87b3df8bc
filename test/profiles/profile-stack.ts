import { rm } from 'node:fs/promises';
import { pino } from 'pino';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { ENV } from '../../contract/names.ts';
import { startStack } from '../../local/stack.ts';
import { newFolder, shell } from '../local/machine.ts';
import { type MemberSite, startMemberSite } from '../site/member-site.ts';

/** A local stack without its proxy, and a site that keeps a login in every store of a browser. */
export interface ProfileStack extends AsyncDisposable {
  readonly folder: string;
  readonly sessions: BrowserSessions;
  readonly site: MemberSite;
  /** All that the stack logged. */
  logged(): string;
  /** A lease of ada's, for a conversation of its own. */
  leaseOf(profile: string | null, profileMode?: 'read-write' | 'read-only'): Promise<Lease>;
}

/** Its database is in its folder, else at `databaseUrl`. */
export async function startProfileStack({ databaseUrl }: { databaseUrl?: string } = {}): Promise<ProfileStack> {
  await using started = new AsyncDisposableStack();
  const folder = await newFolder();
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const site = started.use(await startMemberSite());
  let logged = '';
  const stack = await startStack({
    folder,
    log: pino({ level: 'debug' }, { write: (line: string) => (logged += line) }),
    egress: 'off',
    poolIdle: 2,
    settings: { [ENV.userLimit]: '10' },
    // A page that is kept holds what it showed, and this site shows what it stored.
    runnerEnv: { ...shell(), [ENV.keepPages]: 'none' },
    ...(databaseUrl !== undefined && { databaseUrl }),
  });
  started.defer(() => stack.stop());
  const sessions = new BrowserSessions(stack);
  let conversations = 0;
  const parts = started.move();
  return {
    ...{ folder, sessions, site },
    logged: () => logged,
    leaseOf(profile, profileMode = 'read-write') {
      conversations += 1;
      const conversationId = `c${conversations}`;
      return sessions.acquire({ userId: 'ada', conversationId, recordVideo: false, profile, profileMode });
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
