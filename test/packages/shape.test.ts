import { existsSync, globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));
const root = await json('package.json');

/** The program that runs with each requested package: the room that needs it, and what it is there for. */
const BUILT_ON = {
  cdk8s: 'manifests',
  'cdk8s-plus-28': 'manifests',
  '@pulumi/pulumi': 'infra',
  '@pulumi/aws': 'infra',
  '@pulumi/eks': 'infra',
  '@kubernetes/client-node': 'controller',
  zod: 'contract',
  jose: 'contract',
  vitest: 'test',
  '@playwright/mcp': 'runner',
} as const;

describe('the repository', () => {
  it.each(Object.entries(BUILT_ON))('[C1] is built on %s, which %s imports', async (name, room) => {
    const { dependencies, devDependencies } = await json(join(room, 'package.json'));
    expect({ ...dependencies, ...devDependencies }).toHaveProperty([name]);
    // The runner drives the core that @playwright/mcp pins.
    const imported = name === '@playwright/mcp' ? 'playwright-core' : name;
    const files = globSync(`${room}/**/*.ts`, { exclude: ['**/node_modules/**'] });
    const imports = files.flatMap(file => ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles);
    expect(imports.some(({ fileName }) => fileName === imported || fileName.startsWith(`${imported}/`))).toBe(true);
  });

  it('[C2] has the files and rooms of its shape at the top level', () => {
    for (const path of [
      'package.json',
      'Pulumi.yaml',
      'infra',
      'manifests',
      'controller',
      'runner',
      'policies',
      'test',
    ])
      expect([path, existsSync(path)]).toEqual([path, true]);
  });

  it('[C5] is checked whole in CI: types, import rules, and the tests of every room, those of policies among them', async () => {
    const ci = await readFile('.ci/run', 'utf8');
    for (const command of ['npm run check', 'npm test', 'npm run -s test:cluster']) expect(ci).toContain(command);
    expect(root.scripts.check).toMatch(/tsc --noEmit .*depcruise/);
    for (const room of [
      'contract',
      'http',
      'process',
      'controller',
      'runner',
      'egress',
      'infra',
      'manifests',
      'policies',
    ]) {
      expect(root.scripts.check.split('depcruise')[1]).toContain(` ${room}`);
      expect(globSync(`test/${room}/**/*.test.ts`), room).not.toEqual([]);
    }
  });
});
