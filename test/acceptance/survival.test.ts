import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { runnerPid } from '../local/machine.ts';
import { type Site, startSite } from '../site/site.ts';
import { alive, connect, deployment, lease, recordings, SESSIONS, show, use } from './controllers.ts';

const run = promisify(execFile);

/** Each lease starts its runner: none is started that no test looks at. */
const NO_POOL = { OMICRON_POOL_IDLE: '0' };

/** The browser's own processes below a runner. */
async function browserPids(runnerProcess: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-eo', 'pid=,ppid=,args=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map(line => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .flatMap(match => (match ? [{ pid: Number(match[1]), ppid: Number(match[2]), args: match[3] ?? '' }] : []));
  const below = new Set([runnerProcess]);
  for (let grew = true; grew; ) {
    grew = false;
    for (const { pid, ppid } of rows)
      if (below.has(ppid) && !below.has(pid)) {
        below.add(pid);
        grew = true;
      }
  }
  return rows.filter(({ pid, args }) => below.has(pid) && /chrom|headless.shell/.test(args)).map(({ pid }) => pid);
}

/** Pictures in a recording, finished or not. */
async function framesIn(path: string): Promise<number> {
  const { stdout } = await run('ffprobe', [
    ...['-v', 'error', '-count_packets', '-show_entries', 'stream=nb_read_packets', '-of', 'csv=p=0', path],
  ]);
  return Number(stdout);
}

/**
 * How many frames of a runner’s first tab are on disk, once there are more than a few: a busy machine records slowly.
 */
const recordedFrames = (dataDir: string, runnerId: string): Promise<number> =>
  eventually(
    'frames to be on disk',
    async () => {
      const frames = await framesIn(join(dataDir, 'runners', runnerId, 'output', 'tab-001.webm'));
      return frames > 5 && frames;
    },
    60_000,
  );

// whole controllers and browsers: minutes on a busy machine
describe('faults that a lease survives, and those that end it', { timeout: 180_000 }, () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  });
  afterAll(() => site.close());

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'a controller ended by %s loses no lease: the next one serves the same browser',
    async signal => {
      const d = await deployment();
      const first = await d.controller(NO_POOL);
      const leased = await lease(d, first, { user_id: 'ada', conversation_id: 'c', record_video: false });
      await use(await connect(leased), 'browser_navigate', { url: `${site.url}/login` });
      await first.end(signal);
      const second = await d.controller(NO_POOL);
      const again = await lease(d, second, { user_id: 'ada', conversation_id: 'c', record_video: false });
      expect(again).toMatchObject({
        session_id: leased.session_id,
        epoch: 1,
        mcp_url: leased.mcp_url,
        mcp_headers: leased.mcp_headers,
      });
      expect(await use(await connect(again), 'browser_snapshot')).toContain('/login');
      // the runner reaches the new controller's reports by the address it knows, or closes by its own clock; DELETE
      // ends it
      await d.call(second, 'DELETE', `${SESSIONS}/${leased.session_id}`);
      const runnerId = (await show(d, second, leased.session_id)).runner_id ?? '';
      await eventually('its folder to be gone', async () => !existsSync(join(d.dataDir, 'runners', runnerId)), 30_000);
    },
  );

  it('a runner killed with -9 ends its lease: the next request gets a new epoch, and the video so far is kept', async () => {
    const d = await deployment();
    const c = await d.controller(NO_POOL);
    const leased = await lease(d, c, { user_id: 'ada', conversation_id: 'c' });
    const client = await connect(leased);
    await use(client, 'browser_navigate', { url: `${site.url}/animated` });
    const runnerId = (await show(d, c, leased.session_id)).runner_id ?? '';
    const before = await recordedFrames(d.dataDir, runnerId);
    const pid = await runnerPid(d.dataDir, runnerId);
    const browsers = await browserPids(pid);
    expect(browsers.length).toBeGreaterThan(0);
    for (const each of browsers) process.kill(each, 'SIGSTOP'); // frozen, it does not see that its runner is gone
    process.kill(pid, 'SIGKILL');
    await eventually('the runner to be gone', async () => !alive(pid));
    const next = await lease(d, c, { user_id: 'ada', conversation_id: 'c', record_video: false });
    expect(next).toMatchObject({ session_id: leased.session_id, epoch: 2 });
    expect(next.mcp_url).not.toBe(leased.mcp_url);
    const video = (await recordings(d, c, leased.session_id)).find(a => a.epoch === 1);
    expect(video).toMatchObject({ state: 'stored' });
    expect(await framesIn(fileURLToPath(video?.uri ?? ''))).toBeGreaterThanOrEqual(before);
    await eventually('its browser to be gone', async () => browsers.every(each => !alive(each)));
  });

  it('a browser killed with -9 ends its lease with a reason, and keeps a playable video', async () => {
    const d = await deployment();
    const c = await d.controller(NO_POOL);
    const leased = await lease(d, c, { user_id: 'ada', conversation_id: 'c' });
    const client = await connect(leased);
    await use(client, 'browser_navigate', { url: `${site.url}/animated` });
    const runnerId = (await show(d, c, leased.session_id)).runner_id ?? '';
    const before = await recordedFrames(d.dataDir, runnerId);
    for (const pid of await browserPids(await runnerPid(d.dataDir, runnerId)))
      if (alive(pid)) process.kill(pid, 'SIGKILL');
    const session = await eventually(
      'the lease to end',
      async () => {
        const now = await show(d, c, leased.session_id);
        return now.status === 'error' && now;
      },
      20_000,
    );
    expect(session).toMatchObject({ ended_reason: 'runner_lost' });
    expect(session.error).toMatch(/Request a new lease/);
    const [video] = await recordings(d, c, leased.session_id);
    expect(video).toMatchObject({ state: 'stored' });
    expect(await framesIn(fileURLToPath(video?.uri ?? ''))).toBeGreaterThanOrEqual(before);
  });
});
