import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { isRunning, processId } from '../../controller/runners/local/process.ts';
import { startDemoSite } from '../../local/demo-site.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { startStack } from '../../local/stack.ts';
import { framesOf, newFolder, processTree, runnerPids, shell, up } from './machine.ts';

const log = pino({ level: 'silent' });

// stacks are started one after the other: a minute on a busy machine
describe('the end of the local stack', { timeout: 180_000 }, () => {
  it('leaves no process, runner folder or URL behind, and stores the recording of a live lease', async () => {
    const folder = await newFolder();
    const site = await startDemoSite();
    const { NODE_COMPILE_CACHE: _, ...runnerEnv } = shell();
    const stack = await startStack({ folder, log, egress: 'off', poolIdle: 1, runnerEnv });
    const sessions = new BrowserSessions(stack);
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'c' });
    const browser = await connectMcpBrowser(lease);
    await browser.call('browser_navigate', { url: site.url });
    const processes = (await runnerPids(folder)).flatMap(processTree).map(processId);
    expect(processes.length).toBeGreaterThan(3);

    await Promise.all([stack.stop(), stack.stop()]);
    expect(processes.filter(isRunning)).toEqual([]);
    expect(await readdir(join(folder, 'runners'))).toEqual([]);
    expect(await readdir(folder)).not.toContain('stack.json');
    expect(await readdir(join(folder, 'compile-cache'), { recursive: true })).not.toHaveLength(0); // for the next runner
    await expect(fetch(stack.url)).rejects.toThrow();

    const next = await startStack({ folder, log, egress: 'off', poolIdle: 0 });
    const after = new BrowserSessions(next);
    expect(next.url).toBe(stack.url);
    expect(await after.get(lease.sessionId)).toMatchObject({ status: 'ended', ended_reason: 'shutdown' });
    const video = (await after.listArtifacts(lease.sessionId)).find(({ kind }) => kind === 'video');
    expect(video?.state).toBe('stored');
    expect(await framesOf(fileURLToPath(video?.uri ?? ''))).toBeGreaterThan(0);
    await next.stop();
    await site.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps leases when it is killed: the next stack in the folder continues them', async () => {
    const site = await startDemoSite();
    const { hostname, port } = new URL(site.url);
    const allowed = `${hostname}/32`;
    const killed = await up(await newFolder(), { OMICRON_EGRESS_ALLOWED_CIDRS: allowed });
    try {
      const { serviceSecret } = JSON.parse(await readFile(join(killed.folder, 'keys.json'), 'utf8'));
      const connection = { url: killed.url, serviceSecret };
      const request = { userId: 'ada', conversationId: 'c', recordVideo: false };
      const before = new BrowserSessions(connection);
      await before.putPolicy({}, { version: 1, sites: { ports: [Number(port)] } });
      const lease = await before.acquire(request);
      {
        await using browser = await connectMcpBrowser(lease);
        await browser.call('browser_navigate', { url: `${site.url}/login` });
      }
      await killed.end('SIGKILL');
      const egress = { allowedCidrs: [allowed] };
      const next = await startStack({ folder: killed.folder, log, egress, runnerEnv: shell() });
      try {
        expect(next.url).toBe(killed.url);
        const again = await new BrowserSessions(next).acquire(request);
        expect(again).toMatchObject({ sessionId: lease.sessionId, epoch: lease.epoch, mcpUrl: lease.mcpUrl });
        await using browser = await connectMcpBrowser(again);
        expect(await browser.evaluate('() => location.pathname')).toBe('/login');
        await lease.heartbeat();
      } finally {
        await next.stop();
      }
      expect(await readdir(join(killed.folder, 'runners'))).toEqual([]);
    } finally {
      await killed.dispose();
      await site.close();
    }
  });
});
