import { chmod, chown, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { isRunning, processId } from '../../controller/runners/local/process.ts';
import { startDemoSite } from '../../local/demo-site.ts';
import { findTools } from '../../local/machine-tools.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { StackFolder } from '../../local/stack-folder.ts';
import { waitForRecordings } from '../../local/wait-for-recordings.ts';
import { commandPath } from '../../runner/browser/browser-path.ts';
import { eventually } from '../eventually.ts';
import { newFolder, processTree, ROOT, runnerPids, up } from './machine.ts';

const { PATH = '' } = process.env;
/** The programs on the PATH: no apt-get, no setpriv. */
const PROGRAMS = ['mkfifo', 'ps', 'sh'];
/** As root the stack would want to give the browser another user, by setpriv. */
const NOBODY = 65_534;

it('the local stack runs where there is no apt, /proc, setpriv or process group: it leases, records and leaves nothing', async () => {
  const folder = await newFolder();
  const programs = join(folder, 'programs');
  await mkdir(programs);
  for (const name of PROGRAMS) await symlink(commandPath(name, PATH) ?? '', join(programs, name));
  const node = join(programs, 'node');
  const preload = join(ROOT, 'test', 'local', 'other-system.ts');
  await writeFile(node, `#!/bin/sh\nNODE_OF_OTHER_SYSTEM=$0 exec ${process.execPath} --import ${preload} "$@"\n`);
  await chmod(node, 0o755);
  const uid = process.getuid?.() === 0 ? NOBODY : undefined;
  if (uid !== undefined) await chown(folder, uid, uid);

  const site = await startDemoSite();
  const { browser = '', ffmpeg = '' } = findTools(process.env);
  const env = {
    ...{ PATH: programs, HOME: folder },
    [ENV.chromiumPath]: browser,
    [ENV.ffmpegPath]: ffmpeg,
    [ENV.egressAllowedCidrs]: `${new URL(site.url).hostname}/32`,
  };
  const stack = await up(folder, env, { node, ...(uid !== undefined && { uid }) });
  try {
    const connection = await new StackFolder(folder).running();
    const sessions = new BrowserSessions(connection ?? { url: stack.url, serviceSecret: '' });
    await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(new URL(site.url).port)] } });
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'c' });
    {
      await using connected = await connectMcpBrowser(lease);
      expect(await connected.goto(`${site.url}/login`)).toContain('Log in');
    }
    await lease.end();
    const { sessionId, epoch } = lease;
    const videos = await waitForRecordings(sessions, { sessionId, epoch, withinSeconds: 30 });
    expect(videos).toMatchObject([{ state: 'stored' }]);

    const runners = await eventually('the next runner', async () => {
      const pids = await runnerPids(folder);
      return pids.length === 1 && pids;
    });
    const processes = runners.flatMap(processTree).map(processId);
    for (const pid of runners) expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).toContain('other-system.ts');
    expect(await stack.end('SIGTERM')).toBe(0);
    expect(processes.filter(isRunning)).toEqual([]);
    expect(await readdir(join(folder, 'runners'))).toEqual([]);
  } finally {
    await stack.dispose();
    await site.close();
  }
}, 120_000);
