import { readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { startStack } from '../../local/stack.ts';
import { processTreeOfProc } from '../../process/process-tree.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { startMemberSite } from '../site/member-site.ts';

it('stops every process of a browser that nothing uses, and goes on at the next call where it was', async () => {
  const folder = await newFolder();
  await using site = await startMemberSite();
  const runnerEnv = { ...shell(), [ENV.freezeSeconds]: '1' };
  const [databaseUrl, log] = [await migratedDatabaseUrl(), pino({ level: 'silent' })];
  const stack = await startStack({ folder, databaseUrl, log, egress: 'off', poolIdle: 1, runnerEnv });
  try {
    const sessions = new BrowserSessions(stack);
    const lease = await sessions.acquire({ userId: 'ada', conversationId: 'c1', recordVideo: true });
    await using browser = await connectMcpBrowser(lease);
    await browser.goto(site.url);
    await browser.evaluate(
      '() => { window.kept = 42; window.ticks = 0; setInterval(() => window.ticks++, 10); return true }',
    );

    const { runner_id } = await sessions.get(lease.sessionId);
    const { pid } = JSON.parse(await readFile(join(folder, 'runners', runner_id ?? '', 'process.json'), 'utf8'));
    const browsers = () =>
      (processTreeOfProc(pid) ?? []).filter(
        each => readFileSync(`/proc/${each.pid}/cmdline`, 'utf8').includes('--user-data-dir') || each.isRenderer,
      );
    const states = () =>
      browsers().map(each => /^\S+ \(.*\) (\S)/s.exec(readFileSync(`/proc/${each.pid}/stat`, 'utf8'))?.[1]);
    const kinds = async () => (await sessions.listEvents(lease.sessionId)).events.map(({ kind }) => kind);
    const frozen = () =>
      eventually('a frozen browser', () => states().length > 1 && states().every(state => state === 'T'));

    await lease.release(); // a browser whose lease is held is not frozen
    await frozen();
    expect(await (await fetch(new URL('/healthz', lease.mcpUrl))).json()).toMatchObject({
      browser: { process: { ok: true }, protocol: { ok: true } },
    });
    expect(await browser.evaluate('() => window.kept')).toBe(42);
    expect(states()).not.toContain('T');
    await eventually('its timers', async () => Number(await browser.evaluate('() => window.ticks')) > 0);
    await eventually('the timeline', async () => (await kinds()).includes('browser.thawed'));
    expect(await kinds()).toContain('browser.frozen');
    const metrics = await (await fetch(`${stack.url}/metrics`)).text();
    for (const change of ['frozen', 'thawed'])
      expect(metrics).toMatch(new RegExp(`^omicron_browser_freezes_total\\{change="${change}"\\} [1-9]`, 'm'));

    await frozen();
    await lease.end(); // frozen or not
    await eventually('the recording', async () =>
      (await sessions.listArtifacts(lease.sessionId)).some(({ kind, state }) => kind === 'video' && state === 'stored'),
    );
  } finally {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
