import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { RUNNER_COMMAND } from '../../contract/names.ts';
import { IMAGES } from '../../images/context.ts';

const dockerfile = (name: string) => readFile(`${name}/Dockerfile`, 'utf8');
const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

describe('the Dockerfiles', () => {
  it.each(IMAGES)(
    '%s takes its base as an argument, runs as a numeric user and starts by tini without a shell',
    async name => {
      const text = await dockerfile(name);
      expect(text).toMatch(/^ARG BASE=\S+:\S+\nFROM \$\{BASE\}$/m);
      expect(text).not.toMatch(/^ARG BASE=\S+:latest/m);
      const [user] = text.match(/^USER .*$/gm)?.slice(-1) ?? [];
      expect(user).toBe('USER 1000:1000');
      const entry: string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text)?.[1] ?? '[]');
      expect(entry.slice(0, 3)).toEqual(['tini', '--', 'node']);
      expect(text).not.toMatch(/^(CMD|ENTRYPOINT) [^[]/m);
    },
  );

  it("the runner's starts as local runners do", async () => {
    const text = await dockerfile('runner');
    const entry: string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text)?.[1] ?? '[]');
    expect(entry.slice(3)).toEqual([...RUNNER_COMMAND.flags, RUNNER_COMMAND.main]);
    for (const [name, value] of Object.entries(RUNNER_COMMAND.env)) expect(text).toContain(`${name}=${value}`);
  });

  it("the runner's base is Playwright's image of the version that @playwright/mcp pins", async () => {
    const { dependencies } = await json('node_modules/@playwright/mcp/package.json');
    const base = /^ARG BASE=(\S+)$/m.exec(await dockerfile('runner'))?.[1];
    expect(base).toBe(`mcr.microsoft.com/playwright:v${dependencies['playwright-core']}-noble`);
  });
});
