import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDemoSite } from '../../local/demo-site.ts';
import { framesOf, newFolder, ROOT, run, runnerPids } from './machine.ts';

/** A network namespace of its own; who is not root needs a user namespace for it. */
const ALONE = process.getuid?.() === 0 ? ['--net'] : ['--user', '--map-current-user', '--keep-caps', '--net'];

describe('npm run demo', { timeout: 240_000 }, () => {
  it('[P7] does the main job without any network but loopback, step by step, and leaves a playable video and nothing running', async () => {
    const folder = await newFolder();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    // Not by npm: it would first install what a changed lock file names, which nothing here could download.
    const demo = [process.execPath, join(ROOT, 'local/demo.ts'), '--folder', folder];
    const { code, stdout, stderr } = await run('unshare', [
      ...ALONE,
      'sh',
      '-c',
      'ip link set lo up && exec "$@"',
      'sh',
      ...demo,
    ]);
    expect(stderr.replaceAll(/^npm warn.*\n/gm, '')).toBe('');
    expect(code).toBe(0);
    const steps = [...stdout.matchAll(/^ +\d+ ms {2}(.+)$/gm)].map(match => match[1]);
    for (const [index, start] of [
      'start the local stack',
      'store a credential',
      'lease a browser: session ',
      'connect an MCP client: http://127.0.0.1:',
      'navigate: Log in - The Demo Bakery',
      'log in with secret names: the page shows "Welcome back, Ada"',
      'take a screenshot',
      'renew the lease: it now expires at ',
      'end the lease',
      'wait for the recording: ',
      'session.claimed',
    ].entries())
      expect(steps[index]).toContain(start);
    expect(steps[0]).toMatch(/watch it live: http:\/\/127\.0\.0\.1:\d+\/\S*#/);
    expect(steps.at(-1)).toContain('nothing is left running');
    expect(stdout).toMatch(/\d+ ms {2}session\.ready/); // before or after the runner's report of its start
    expect(stdout).toMatch(/tool\.call \(browser_fill_form, \d+ ms\)/);
    expect(stdout).not.toContain('analytical-engine');

    const video = /wait for the recording: (\S+) \(/.exec(stdout)?.[1] ?? '';
    expect(await framesOf(join(ROOT, video))).toBeGreaterThan(0);
    const picture = await readFile(join(folder, 'demo', 'screenshot.png'));
    expect(picture.subarray(1, 4).toString()).toBe('PNG');
    expect(await runnerPids(folder)).toEqual([]);
  });

  it('works on a given page, without a login', async () => {
    const folder = await newFolder();
    const site = await startDemoSite();
    onTestFinished(async () => {
      await site.close();
      await rm(folder, { recursive: true, force: true });
    });
    const { code, stdout } = await run('npm', ['run', '--silent', 'demo', '--', `${site.url}/`, '--folder', folder], {
      env: { OMICRON_EGRESS_ALLOWED_CIDRS: `${new URL(site.url).hostname}/32` },
    });
    expect(code).toBe(0);
    expect(stdout).toContain('navigate: The Demo Bakery\n');
    expect(stdout).not.toContain('log in');
    expect(stdout).toContain('wait for the recording: ');
  });

  it('refuses a URL that is not http(s)', async () => {
    const { code, stderr } = await run('npm', ['run', '--silent', 'demo', '--', 'file:///etc/passwd']);
    expect(code).toBe(2);
    expect(stderr).toContain('not an http(s) URL');
  });
});
