import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { startDemoSite } from '../../local/demo-site.ts';
import { command, newFolder, runnerPids, shell, up } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { commandOutput, commandRefusal } from './command-stack.ts';
import { runHere } from './run-here.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

describe('a stack that a command starts', { timeout: 180_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await newFolder();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const list = (of: string) => runHere(['--folder', of, 'session', 'list'], { environment: shell() });

  it('up takes policy presets for its sessions, says so, and has none when it is started without them', async () => {
    const [presets, databaseUrl] = [await newFolder(), await migratedDatabaseUrl()];
    const act = async (args: string[], conversation: string) => {
      const own = await up(presets, { [ENV.databaseUrl]: databaseUrl }, { args: ['--pool', '0', ...args] });
      const call = async (...line: string[]) =>
        commandOutput(await runHere(['--folder', presets, ...line], { environment: shell() }));
      const names = ['--user', 'ada', '--conversation', conversation, '--no-video'];
      const { session_id: id } = await call('session', 'start', ...names);
      const verdicts = ['http://example.com/', 'https://example.com/'].map(async url => {
        const { action } = await call('policy', 'test', 'browser_navigate', JSON.stringify({ url }), '--session', id);
        return action;
      });
      const found = await Promise.all(verdicts);
      expect(await own.end('SIGINT')).toBe(0);
      return { found, said: own.said(), own };
    };
    const taken = await act(['--policy-presets', 'ssrf,https-only'], 'with');
    expect(taken.said).toContain('Its sessions have the policy presets ssrf, https-only');
    expect(taken.found).toEqual(['block', 'allow']);
    const without = await act([], 'without');
    expect(without.said).toContain('Presets to take');
    expect(without.found).toEqual(['allow', 'allow']);
    await without.own.dispose();
  });

  it('smoke starts a stack of its own when none runs, and stops it', async () => {
    const site = await startDemoSite();
    onTestFinished(() => site.close());
    const picture = join(folder, 'own', 'page.png');
    const args = ['--folder', folder, 'smoke', site.url, '--screenshot', picture];
    const smoke = await command(args, { env: { OMICRON_EGRESS: 'off' } }); // a site of this machine
    expect(smoke.code).toBe(0);
    expect(smoke.stderr).toContain('stack.stop');
    expect((await readFile(picture)).subarray(0, 4)).toEqual(PNG);
    expect(await runnerPids(folder)).toEqual([]);
    expect(commandRefusal(await list(folder)).line).toContain('not_configured');
  });

  it('does not mistake the stack.json of a dead stack for a running one', async () => {
    const dead = spawn(process.execPath, ['--version']);
    await once(dead, 'exit');
    const other = await newFolder();
    await writeFile(join(other, 'keys.json'), await readFile(join(folder, 'keys.json')));
    const url = 'http://127.0.0.1:9';
    await writeFile(join(other, 'stack.json'), JSON.stringify({ url, consoleUrl: url, pid: dead.pid }));
    expect(commandRefusal(await list(other)).line).toContain('not_configured');
    await rm(other, { recursive: true });
  });
});
