/**
 * The cost of a profile: `npm run bench -- profiles [--only medium,acquire]`. Complete profiles of two sizes on the local
 * stack: bytes, the first
 * save and one after another login, the pause of the browser meanwhile, and the way back to a page that is logged in; beside tar and zstd of
 * the whole folder, and Playwright's storageState. Then an acquire with a light profile of 10 MB, the first call of a frozen browser, and the
 * way back of a hibernated session.
 * Writes the sections `profiles` and `profilesBeside` of `.omicron/bench.json`.
 */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { ENV } from '../../contract/names.ts';
import { findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { countWarmRunners } from '../../local/warm-runners.ts';
import { eventually } from '../eventually.ts';
import { newFolder } from '../local/machine.ts';
import { machine, percentiles, versions, writeSections } from './figures.ts';
import { type Bulk, fill, LOGIN_AGAIN, STORED, startStoringSite } from './profile-site.ts';
import { storageState, tarOfTheFolder } from './profiles-beside.ts';
import { timedStack } from './timed-stack.ts';

/** Megabytes by kind of storage; `medium` and `heavy` are of real profiles without their HTTP cache. */
const SIZES = {
  medium: { database: 30, cache: 11 },
  heavy: { database: 266, cache: 63 },
} as const satisfies Record<string, Bulk>;
const LOGIN: Bulk = { database: 10, cache: 0 };
const ROUNDS = 10;
const BACK_ROUNDS = 20;
const FREEZE_SECONDS = 1;

const TARGETS = {
  pauseMsMedium: 1_500,
  restoreMs: { medium: 2_000, heavy: 4_000 },
  nextSaveShare: 0.01,
  acquireP50Ms: 900,
  thawP95Ms: 350,
  hibernateBackP95Ms: 4_000,
};

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = (part: string) => values.only === undefined || values.only.split(',').includes(part);
const progress = (line: string) => process.stderr.write(`${line}\n`);
const timed = async <T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> => {
  const startMs = performance.now();
  const value = await work();
  return { ms: Math.round(performance.now() - startMs), value };
};

const tools = findTools(process.env);
if (tools.browser === undefined) throw new Error('no browser: run this with "npm run bench"');
const serviceSecret = randomBytes(32).toString('base64');
const folder = await newFolder();
// The folder in which runners and archives write. ext4 makes files near thousands that were deleted in the last minutes
// up to forty times as slowly; with
// this attribute it keeps the folders of different runs apart, as those of different days are. Other file systems know no such attribute.
const temp = await newFolder();
await chmod(temp, 0o711);
spawnSync('chattr', ['+T', temp]);
process.env.TMPDIR = temp;
const stack = await timedStack(folder, null, {
  [ENV.serviceSecret]: serviceSecret,
  [ENV.signingKey]: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
  [ENV.derivationKey]: randomBytes(32).toString('base64'),
  [ENV.secretFileKey]: randomBytes(32).toString('base64'),
  [ENV.egressSecret]: randomBytes(32).toString('base64'),
  [ENV.poolIdle]: '1',
  [ENV.freezeSeconds]: String(FREEZE_SECONDS),
  [ENV.checkpointSeconds]: '0',
  // a session is hibernated when its user's next one is asked for, and not before
  [ENV.hibernate]: 'expiry',
  [ENV.userLimit]: '1',
  [ENV.onUserLimit]: 'evict_oldest',
  ...toolsEnvironment(tools),
});
const sessions = new BrowserSessions({ url: stack.url, serviceSecret });
const site = await startStoringSite();

const isWarm = () => eventually('a warm runner', async () => (await countWarmRunners(stack.url)) > 0);
/** The lease is over, and so is its runner, which saves its profile for the last time: what follows measures no wait for that. */
async function endAndSave(lease: Lease): Promise<void> {
  const { runner_id } = await sessions.get(lease.sessionId);
  await lease.end();
  const process = join(folder, 'runners', runner_id ?? '', 'process.json');
  await eventually('the end of a runner', async () => !existsSync(process));
  await isWarm();
}
const acquire = (profile?: string, profileForm?: 'complete'): Promise<Lease> =>
  sessions.acquire({
    ...{ userId: 'bench', conversationId: randomUUID(), recordVideo: false, profile, profileForm },
  });
const acquireChat = (conversationId: string): Promise<Lease> =>
  sessions.acquire({ userId: 'rests', conversationId, recordVideo: false });

/** The last line of this message in the log of a lease's runner. */
async function logged(lease: Lease, message: string): Promise<{ ms: number }> {
  const { runner_id } = await sessions.get(lease.sessionId);
  const home = join(folder, 'runners', runner_id ?? '');
  const [log = ''] = (await readdir(home)).filter(name => name.endsWith('.log'));
  const lines = (await readFile(join(home, log), 'utf8')).split('\n').filter(line => line.includes(`"${message}"`));
  return JSON.parse(lines.at(-1) ?? '{}');
}

async function storedBytes(): Promise<number> {
  const entries = await readdir(join(folder, 'profiles'), { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter(entry => entry.isFile());
  const sizes = await Promise.all(files.map(async file => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

async function complete(name: keyof typeof SIZES) {
  progress(`a ${name} profile ...`);
  const lease = await acquire(name, 'complete');
  const browser = await connectMcpBrowser(lease);
  await browser.goto(site.url);
  for (const call of fill(SIZES[name])) await browser.evaluate(call);
  const before = await storedBytes();
  const first = await timed(() => sessions.saveProfile('bench', name));
  const bytes = (await storedBytes()) - before;
  await browser.evaluate(LOGIN_AGAIN);
  const next = await timed(() => sessions.saveProfile('bench', name));
  const nextBytes = (await storedBytes()) - before - bytes;
  const { ms: pause_ms } = await logged(lease, 'browser paused');
  await browser[Symbol.asyncDispose]();
  await endAndSave(lease);
  const restored = await timed(async () => {
    const again = await acquire(name, 'complete');
    await using page = await connectMcpBrowser(again);
    await page.goto(site.url);
    if ((await page.evaluate(STORED)) !== true) throw new Error(`${name}: the profile came back without its login`);
    return again;
  });
  await restored.value.end();
  progress(`  saves took ${first.ms} and ${next.ms} ms`);
  return { bytes, first_save_bytes: bytes, next_save_bytes: nextBytes, pause_ms, restore_ms: restored.ms };
}

async function acquireMs() {
  progress('acquires ...');
  const lease = await acquire('login');
  {
    await using browser = await connectMcpBrowser(lease);
    await browser.goto(site.url);
    for (const call of fill(LOGIN)) await browser.evaluate(call);
    await sessions.saveProfile('bench', 'login');
  }
  await endAndSave(lease);
  const of = async (profile?: string) => {
    const all: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { ms, value } = await timed(() => acquire(profile));
      all.push(ms);
      await endAndSave(value);
    }
    return percentiles(all).p50;
  };
  return { plain: await of(), profile: await of('login') };
}

/** The first snapshot of a browser that is frozen. */
async function thawMs(): Promise<number> {
  progress('thaws ...');
  const lease = await acquire();
  await using browser = await connectMcpBrowser(lease);
  await browser.goto(site.url);
  const all: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(FREEZE_SECONDS * 3_000);
    all.push((await timed(() => browser.call('browser_snapshot'))).ms);
  }
  const { events } = await sessions.listEvents(lease.sessionId, { limit: 200 });
  const thawed = events.filter(({ kind }) => kind === 'browser.thawed').length;
  if (thawed < ROUNDS - 1) throw new Error(`the browser was frozen ${thawed} times of ${ROUNDS}`);
  return percentiles(all).p95;
}

/** From the request for a hibernated session until its tabs and its login were seen. */
async function hibernateBackMs() {
  progress('hibernated sessions ...');
  const paths = ['one', 'two', 'three'];
  const first = await acquireChat('rests');
  {
    await using browser = await connectMcpBrowser(first);
    for (const [place, path] of paths.entries()) {
      if (place > 0) await browser.call('browser_tabs', { action: 'new' });
      await browser.goto(`${site.url}${path}`);
    }
    await browser.evaluate(LOGIN_AGAIN);
  }
  const all: number[] = [];
  for (let round = 0; round < BACK_ROUNDS; round++) {
    const other = await acquireChat('other');
    const { status } = await sessions.get(first.sessionId);
    if (status !== 'hibernated') throw new Error(`the session is ${status}, not hibernated`);
    await other.end();
    await isWarm();
    const { ms } = await timed(async () => {
      await using browser = await connectMcpBrowser(await acquireChat('rests'));
      const { text } = await browser.call('browser_tabs', { action: 'list' });
      const isBack = paths.every(path => text.includes(`${site.url}${path}`));
      if (!isBack || (await browser.evaluate(STORED)) !== true) throw new Error(`tabs or login are missing: ${text}`);
    });
    all.push(ms);
  }
  await sessions.end(first.sessionId);
  const { p50, p95 } = percentiles(all);
  progress(`  back after ${all.join(', ')} ms`);
  return { p50, p95 };
}

const profiles: Record<string, unknown> = {};
const beside: Record<string, unknown> = {};
try {
  if (wanted('acquire')) profiles.acquire_ms = await acquireMs();
  if (wanted('thaw')) profiles.thaw_ms = await thawMs();
  if (wanted('hibernate')) {
    const { p50, p95 } = await hibernateBackMs();
    profiles.hibernate_back_ms = p95;
    beside.hibernate_back = { p50_ms: p50, p95_ms: p95, rounds: BACK_ROUNDS, tabs: 3 };
  }
  for (const name of ['medium', 'heavy'] as const) {
    if (!wanted(name)) continue;
    profiles[name] = await complete(name);
    progress(`  ${JSON.stringify(profiles[name])}\n  tar of the folder, and storageState ...`);
    beside[name] = {
      tar_zstd: await tarOfTheFolder(tools.browser, site.url, SIZES[name]),
      // of the heavy one Playwright's process dies: its JSON is longer than a string may be
      storage_state: name === 'medium' ? await storageState(tools.browser, site.url, SIZES[name]) : null,
    };
  }
} finally {
  await stack.stop();
  await site.stop();
  for (const each of [folder, temp]) await rm(each, { recursive: true, force: true });
}
const sections = { profiles, profilesBeside: { ...beside, machine: machine(), versions: versions(tools.browser) } };
const file = writeSections(sections);
process.stdout.write(`${JSON.stringify({ ...sections, targets: TARGETS }, null, 2)}\n`);
progress(`written to ${file}`);
