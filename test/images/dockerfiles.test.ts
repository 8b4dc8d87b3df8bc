import { readdir, readFile, stat } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RUNNER_COMMAND } from '../../contract/names.ts';
import { IMAGES } from '../../images/context.ts';

const dockerfile = (name: string) => readFile(`${name}/Dockerfile`, 'utf8');
const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

describe('the Dockerfiles', () => {
  it('every FROM of the repository has a digest, or an argument without a default that the build fills with one', async () => {
    const rooms = (await readdir('.')).filter(name => !name.startsWith('.') && name !== 'node_modules');
    const found = await Promise.all(
      rooms.map(async room =>
        (await stat(room)).isDirectory()
          ? (await readdir(room, { recursive: true })).map(path => join(room, path))
          : [room],
      ),
    );
    const files = found
      .flat()
      .filter(path => !path.includes('node_modules') && /(^|[/.])(Dockerfile|Containerfile)(\.|$)/.test(path));
    expect(files).toEqual(expect.arrayContaining(IMAGES.map(name => `${name}/Dockerfile`)));
    for (const path of files) {
      const text = await readFile(path, 'utf8');
      const bases = [...text.matchAll(/^\s*FROM\s+(?:--\S+\s+)*(\S+)/gim)].map(([, base]) => base ?? '');
      expect(bases.length, path).toBeGreaterThan(0);
      for (const base of bases) {
        if (base === `\${BASE}`) expect(text, path).toMatch(/^ARG BASE$/m);
        else expect(base, path).toMatch(/@sha256:[0-9a-f]{64}$/);
      }
    }
  });

  it.each(IMAGES)('%s runs as a numeric user and starts by tini without a shell', async name => {
    const text = await dockerfile(name);
    const [user] = text.match(/^USER .*$/gm)?.slice(-1) ?? [];
    expect(user).toBe('USER 1000:1000');
    const entry: string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text)?.[1] ?? '[]');
    expect(entry.slice(0, 3)).toEqual(['tini', '--', 'node']);
    expect(text).not.toMatch(/^(CMD|ENTRYPOINT) [^[]/m);
  });

  it.each(IMAGES)('%s keeps no cache and no log of apt, which hold the time of the build', async name => {
    const installs = (await dockerfile(name)).match(/^RUN apt-get update[^#]*?(?=^[A-Z#])/gms) ?? [];
    expect(installs).toHaveLength(1);
    for (const left of [
      '/var/lib/apt/lists/*',
      '/var/cache/apt/*.bin',
      '/var/cache/ldconfig/aux-cache',
      '/var/log/apt',
    ])
      expect(installs[0], left).toMatch(new RegExp(`rm -rf .*${left.replaceAll(/[*.]/g, '\\$&')}`));
  });

  it("the runner's starts as local runners do", async () => {
    const text = await dockerfile('runner');
    const entry: string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text)?.[1] ?? '[]');
    expect(entry.slice(3)).toEqual([...RUNNER_COMMAND.flags, RUNNER_COMMAND.main]);
    for (const [name, value] of Object.entries(RUNNER_COMMAND.env)) expect(text).toContain(`${name}=${value}`);
  });

  it("the runner's base is Playwright's image of the release whose pre-release @playwright/mcp pins", async () => {
    const { dependencies } = await json('node_modules/@playwright/mcp/package.json');
    const [release] = dependencies['playwright-core'].split('-');
    const { runner, local } = await json('images/base-images.json');
    expect(runner.image).toBe(`mcr.microsoft.com/playwright:v${release}-noble`);
    expect(local).toEqual(runner);
  });

  it.each([
    'chromium_headless_shell-1248/chrome-headless-shell-linux64/chrome-headless-shell',
    'chromium_headless_shell-1248/chrome-linux/headless_shell',
  ])('the browser of that image is put on the path, whatever its revision: %s', async browser => {
    for (const name of ['runner', 'local']) {
      const text = await dockerfile(name);
      const [, pattern = '', link = ''] =
        /^RUN for shell in \/ms-playwright\/(\S+); do[\s\S]*?ln -s "\$shell" (\S+);/m.exec(text) ?? [];
      expect(matchesGlob(browser, pattern)).toBe(true);
      expect(link).toBe('/usr/local/bin/chromium-headless-shell');
      expect(/^ENV .*PATH=(\S+)/m.exec(text)?.[1]?.split(':')).toContain('/usr/local/bin');
    }
  });
});
