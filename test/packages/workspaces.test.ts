import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importsOf } from '../../images/imports.ts';

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));
const root = await json('package.json');
const rooms: string[] = root.workspaces;

/** Left out of the published command on purpose: only pods use AWS (runner/uploader/aws-sdk.ts, controller/adapters.ts). */
const WITHOUT = [
  ...['@aws-sdk/client-kms', '@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'],
  '@aws-sdk/credential-provider-web-identity',
  '@smithy/node-http-handler',
];

describe('the workspaces', () => {
  it('all have one version', async () => {
    for (const room of rooms)
      expect([room, (await json(join(room, 'package.json'))).version]).toEqual([room, root.version]);
  });

  it('name exact versions, one for each package; the SDK, which is installed beside others, names ranges from there', async () => {
    const versions = new Map<string, Set<string>>();
    for (const path of ['package.json', ...rooms.map(room => join(room, 'package.json'))]) {
      const { dependencies, devDependencies } = await json(path);
      for (const [name, wanted] of Object.entries<string>({ ...dependencies, ...devDependencies })) {
        expect(wanted.startsWith('^'), `${path}: ${name}`).toBe(path === 'client/package.json');
        versions.set(name, (versions.get(name) ?? new Set()).add(wanted.replace('^', '')));
      }
    }
    for (const [name, found] of versions) {
      expect([name, ...found]).toHaveLength(2);
      expect([...found].join(), name).toMatch(/^(npm:@?[\w/]+@)?\d+\.\d+\.\d+(-[\w.-]+)?$/);
    }
  });
});

describe.each(['client', 'cli'])('what %s publishes', room => {
  it('needs exactly the packages that its files load', async () => {
    const { files } = await json(join(room, 'tsconfig.build.json'));
    const { packages } = await importsOf(files.map((file: string) => join(room, file)));
    const { dependencies } = await json(join(room, 'package.json'));
    expect(packages.filter(name => !WITHOUT.includes(name))).toEqual(Object.keys(dependencies).sort());
  });

  it('asks for a Node.js version and installs none', async () => {
    const { engines, dependencies } = await json(join(room, 'package.json'));
    expect(engines.node).toMatch(/^>=\d+$/);
    expect(dependencies).not.toHaveProperty('node');
  });
});

describe('the packages that the local stack installs', () => {
  it('lie where every room looks: the stack alone installs them, and runs the rooms from their own folders', async () => {
    const { packages } = await json('package-lock.json');
    const nested = Object.keys(packages).filter(path => rooms.some(room => path.startsWith(`${room}/node_modules/`)));
    expect(nested).toEqual([]);
    const { dependencies } = await json('cli/package.json');
    for (const [name, version] of Object.entries(dependencies))
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
  });
});
