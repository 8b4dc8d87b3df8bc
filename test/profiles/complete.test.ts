import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { ENV } from '../../contract/names.ts';
import { profileContent } from '../../contract/profile.ts';
import type { Database } from '../../controller/ports/database.ts';
import { folderProfileStore } from '../../controller/profiles/folder-store.ts';
import { keyFileWrap } from '../../controller/profiles/key-file.ts';
import { ProfileKeeper } from '../../controller/profiles/profile-keeper.ts';
import { SealedObjects } from '../../controller/profiles/sealed-objects.ts';
import { isRunning, type ProcessId, processId } from '../../controller/runners/local/process.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { sqlProfiles } from '../../controller/store/profiles.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { newFolder, processTree, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { LOGGED_OUT, type MemberSite, SECRETS, startMemberSite, WHOLE_LOGIN } from '../site/member-site.ts';
import { found, logIn } from './member.ts';

/** Runners that are killed while they save; `OMICRON_TEST_KILLS=200` takes nine minutes or more. */
const KILLS = Number(process.env.OMICRON_TEST_KILLS ?? 2);

describe('a complete profile on real browsers', () => {
  let folder: string;
  let stack: Stack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  let database: Database;
  /** A folder of the stack's profiles, beside its own. */
  let keeper: ProfileKeeper;
  beforeAll(async () => {
    folder = await newFolder();
    site = await startMemberSite();
    const key = randomBytes(32);
    const settings = { [ENV.userLimit]: '10', [ENV.profileKey]: key.toString('base64') };
    const log = pino({ level: 'silent' });
    const databaseUrl = await migratedDatabaseUrl();
    stack = await startStack({ folder, log, databaseUrl, egress: 'off', poolIdle: 1, settings, runnerEnv: shell() });
    database = postgresDatabase({ url: databaseUrl, connectionsMax: 2, log });
    const profiles = sqlProfiles(database);
    const store = folderProfileStore(join(folder, 'profiles'));
    const objects = new SealedObjects({ profiles, store, keys: keyFileWrap(key), quotaBytes: 2 ** 31 });
    keeper = new ProfileKeeper({ profiles, objects, store, retentionDays: 365, log });
    sessions = new BrowserSessions(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await database.close();
    await site[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  let conversations = 0;
  const leaseOf = (profile: string) => {
    conversations += 1;
    const request = { userId: 'ada', conversationId: `c${conversations}`, recordVideo: false, waitSeconds: 60 };
    return sessions.acquire({ ...request, profile, profileForm: 'complete' });
  };
  const storedBytes = async () => {
    const files = (await readdir(join(folder, 'profiles'), { recursive: true, withFileTypes: true })).filter(entry =>
      entry.isFile(),
    );
    const sizes = await Promise.all(files.map(async file => (await stat(join(file.parentPath, file.name))).size));
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  };
  const killed: ProcessId[] = [];
  const kill = async ({ sessionId }: Lease) => {
    const { runner_id } = await sessions.get(sessionId);
    const path = join(folder, 'runners', runner_id ?? '', 'process.json');
    const { pid } = JSON.parse(await readFile(path, 'utf8'));
    killed.push(...processTree(pid).map(processId));
    process.kill(pid, 'SIGKILL');
    await eventually('the end of the lease', async () => (await sessions.get(sessionId)).status === 'error');
  };

  it('[D2] holds all that a site stores, saved right after the login, on the next runner', async () => {
    const first = await leaseOf('whole');
    expect(await found(site, first)).toEqual(LOGGED_OUT);
    await logIn(site, first);
    expect(await sessions.saveProfile('ada', 'whole')).toBe(1);
    expect(await found(site, first)).toEqual(WHOLE_LOGIN); // the browser went on
    await kill(first);
    const second = await leaseOf('whole');
    expect(await found(site, second)).toEqual(WHOLE_LOGIN);
    await second.end();
    const third = await leaseOf('whole'); // from the save at the end
    expect(await found(site, third)).toEqual(WHOLE_LOGIN);
    await third.end();
    const { versions } = await sessions.getProfile('ada', 'whole');
    expect(versions.map(({ form }) => form)).toContain('complete');
  });

  it('gives pages the options of the lease, in the browser that was started again for its files', async () => {
    const request = {
      userId: 'ada',
      conversationId: 'page options',
      profile: 'abroad',
      profileForm: 'complete',
    } as const;
    const lease = await sessions.acquire({
      ...request,
      recordVideo: false,
      locale: 'pt-BR',
      userAgentSuffix: 'Example/1',
    });
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${site.url}/blank`);
      const seen = "() => [navigator.language, navigator.userAgent.split(' ').at(-1), innerWidth]";
      expect(await browser.evaluate(seen)).toEqual(['pt-BR', 'Example/1', 1920]);
    }
    await lease.end();
  });

  it(`holds the last whole version through ${KILLS} runners that are killed while they save`, {
    timeout: 60_000 + KILLS * 60_000,
  }, async () => {
    /** In localStorage, which a save reads from the page, and in Cache Storage, which it reads from the files. */
    const write = async (lease: Lease, round: number) => {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${site.url}/blank`);
      await browser.evaluate(`async () => {
        localStorage.setItem('round', '${round}');
        const bulk = crypto.getRandomValues(new Uint32Array(16_000));
        await (await caches.open('rounds')).put('/round', new Response('${round} ' + bulk.join(' ')));
        return true;
      }`);
    };
    const read = async (lease: Lease) => {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${site.url}/blank`);
      return await browser.evaluate(`async () => {
        const cached = await (await (await caches.open('rounds')).match('/round')).text();
        return [Number(localStorage.getItem('round')), Number(cached.split(' ')[0])];
      }`);
    };
    let lease = await leaseOf('cut');
    await logIn(site, lease);
    await sessions.saveProfile('ada', 'cut');
    await write(lease, 0);
    const startMs = performance.now();
    await sessions.saveProfile('ada', 'cut');
    const saveMs = performance.now() - startMs;
    let round = 0;
    let acknowledged = 0;
    for (let n = 1; n <= KILLS; n++) {
      await write(lease, n);
      const saving = sessions.saveProfile('ada', 'cut').then(
        () => true,
        () => false,
      );
      await sleep(Math.random() * saveMs); // somewhere in the save: what is right is right at any moment
      await kill(lease);
      const isSaved = await saving;
      lease = await leaseOf('cut');
      expect(await found(site, lease)).toEqual(WHOLE_LOGIN);
      const [local, cached] = (await read(lease)) as [number, number];
      expect(cached).toBe(local);
      expect(isSaved ? [n] : [round, n]).toContain(local);
      round = local;
      if (isSaved) acknowledged += 1;
    }
    process.stdout.write(`${KILLS} runners killed, ${acknowledged} of them after their save\n`);
    await lease.end();
    await eventually('the last save', () => sessions.deleteProfile('ada', 'cut').then(() => true));
    // a browser that a save had stopped ends too
    await expect.poll(() => killed.filter(isRunning), { timeout: 30_000 }).toEqual([]);
  });

  it('brings the files of an older Chromium up to date, and refuses those of a newer one with the way out; a light profile is of none', {
    timeout: 180_000,
  }, async () => {
    /** As a runner with another Chromium would save: no other way leads to one. */
    const saveAs = async (chromium: number, { sessionId, epoch }: Lease) => {
      const { runner_id } = await sessions.get(sessionId);
      const key = { session_id: sessionId, epoch, runner_id: runner_id ?? '' };
      const { version, json } = await keeper.ofLease(key);
      const { state, files } = profileContent.parse(JSON.parse(String(json)));
      if (files === null) throw new Error('the profile is not complete');
      return keeper.saveFor(key, version, { state, files: { ...files, chromium } });
    };
    const first = await leaseOf('moved');
    await logIn(site, first);
    await sessions.saveProfile('ada', 'moved');
    expect(await saveAs(1, first)).toBe(2);
    await kill(first);
    const older = await leaseOf('moved');
    expect(await found(site, older)).toEqual(WHOLE_LOGIN);
    expect(await saveAs(9_999, older)).toBe(3);
    await kill(older);
    await expect(leaseOf('moved')).rejects.toMatchObject({
      code: 'profile_unreadable',
      message: expect.stringMatching(/saved by Chromium 9999, and this runner has \d+.* restore an older version/),
    });
    // no other runner was started for it: it would not read it either
    const lastEpoch = 'select epoch from omicron.browser_sessions where conversation_id = $1';
    const [refused] = await database.query<{ epoch: string }>(lastEpoch, [`c${conversations}`]);
    expect(Number(refused?.epoch)).toBe(1);
    await eventually('the way out', () => sessions.restoreProfile('ada', 'moved', 2).then(() => true), 60_000);
    const again = await leaseOf('moved');
    expect(await found(site, again)).toEqual(WHOLE_LOGIN);
    await again.end();
    const { cookies } = await sessions.exportProfile('ada', 'moved');
    await sessions.importProfile('ada', 'light', { cookies, origins: [] });
    const light = await sessions.acquire({
      userId: 'ada',
      conversationId: 'light',
      recordVideo: false,
      profile: 'light',
    });
    expect(await found(site, light)).toMatchObject({ session: SECRETS.session, lasting: SECRETS.lasting });
    await light.end();
    expect((await keeper.export('ada', 'light')).toString()).not.toContain('chromium');
  });

  it('[D5] writes of a large profile at the next save what has changed', async () => {
    const lease = await leaseOf('large');
    await logIn(site, lease);
    await using browser = await connectMcpBrowser(lease);
    await browser.goto(`${site.url}/blank`);
    await browser.evaluate(`async () => {
      const cache = await caches.open('bulk');
      for (let n = 0; n < 24; n++) {
        const parts = Array.from({ length: 16 }, () => crypto.getRandomValues(new Uint8Array(65536)));
        await cache.put('/bulk/' + n, new Response(new Blob(parts)));
      }
      return true;
    }`);
    const before = await storedBytes();
    await sessions.saveProfile('ada', 'large');
    const first = (await storedBytes()) - before;
    expect(first).toBeGreaterThan(16 * 1024 * 1024);
    await browser.evaluate(
      "() => { localStorage.setItem('token', 'another'); document.cookie = 'one=more'; return true }",
    );
    await sessions.saveProfile('ada', 'large');
    const next = (await storedBytes()) - before - first;
    expect(next).toBeGreaterThan(0);
    expect(next / first).toBeLessThan(0.01);
    await lease.end();
    await eventually('the last save', () => sessions.deleteProfile('ada', 'large').then(() => true));
    expect(await storedBytes()).toBe(before); // no chunk outlives its versions
  });
});
