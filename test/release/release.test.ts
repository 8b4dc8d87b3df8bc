import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import * as z from 'zod';
import {
  COMMAND_PACKAGE,
  catalogueEntries,
  NAMES_TO_RESERVE,
  REGISTRY_NAME,
  REPOSITORY,
  serverJson,
} from '../../release/catalogue.ts';
import { publish } from '../../release/publish.ts';
import { findFaults, readVersion, setVersion } from '../../release/version.ts';
import { filesOf, pages } from '../docs/files.ts';
import { ROOT, run } from '../local/machine.ts';

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

/** The registry's demands on a server.json: <https://modelcontextprotocol.io/registry/package-types>, schema of 2025-12-11. */
const registryEntry = z.strictObject({
  $schema: z.url(),
  name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().max(100),
  description: z.string().min(1).max(100),
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  repository: z.strictObject({ url: z.url(), source: z.literal('github') }),
  packages: z.tuple([
    z.strictObject({
      registryType: z.literal('npm'),
      identifier: z.string(),
      version: z.string(),
      runtimeHint: z.literal('npx'),
      transport: z.strictObject({ type: z.literal('stdio') }),
      packageArguments: z.array(z.looseObject({ type: z.enum(['positional', 'named']) })),
      environmentVariables: z.array(
        z.strictObject({
          ...{ name: z.string(), description: z.string(), isRequired: z.boolean(), isSecret: z.boolean() },
        }),
      ),
    }),
  ]),
});

/** A local entry as the catalogue of the documents has it (003). */
const localEntry = z.strictObject({
  ...{ name: z.string(), version: z.string(), description: z.string(), serverType: z.literal('local') },
  localConfig: z.strictObject({
    ...{
      dockerImage: z.string(),
      command: z.string(),
      arguments: z.array(z.string()),
      transportType: z.literal('stdio'),
    },
    environment: z.array(
      z.strictObject({
        ...{ key: z.string(), type: z.enum(['plain_text', 'secret']), promptOnInstallation: z.boolean() },
      }),
    ),
  }),
});

it('has one version, from which every other place is written, and a change log that has it', async () => {
  expect(await findFaults()).toEqual([]);
  await expect(setVersion('next')).rejects.toThrow('"next" is no version');
});

it('[A12] has an entry for the MCP registry and for the catalogue of a platform, which name what is published', async () => {
  const current = await readVersion();
  const entry = registryEntry.parse(await json('release/server.json'));
  expect(entry).toEqual(serverJson(current));
  const { mcpName, version: published } = await json('cli/package.json');
  expect([mcpName, published]).toEqual([REGISTRY_NAME, current]);
  expect(entry.packages[0]).toMatchObject({ identifier: COMMAND_PACKAGE, version: current });
  const entries = await json('release/catalogue.json');
  expect(entries).toEqual(catalogueEntries(current));
  const { localConfig } = localEntry.parse(entries.local);
  expect(localConfig.arguments).toContain(`${COMMAND_PACKAGE}@${current}`);
  expect(localConfig.environment.find(({ type }) => type === 'secret')?.key).toBe('OMICRON_SERVICE_JWT_SECRET');
  expect(localConfig.arguments.slice(-3)).toEqual(['mcp', '--toolset', 'compat']); // the seven tools of 003
  // The command line of the entries is one that the command takes.
  const help = await run(process.execPath, ['cli/bin.js', 'mcp', '--help'], { cwd: ROOT });
  expect(help.stdout).toContain('--user');
});

it('publishes nothing before the names are reserved, and names them', async () => {
  const options = {
    ...{ dryRun: false, namesAreReserved: false, isUnattested: false, environment: {} },
    ...{ python: 'python3', log: () => {} },
  };
  const error = await publish(options).catch((reason: Error) => reason.message);
  for (const name of NAMES_TO_RESERVE) expect(error).toContain(name);
});

it('names the repository in both packages, without which npm attests nothing', async () => {
  for (const folder of ['client', 'cli'])
    expect(await json(`${folder}/package.json`)).toMatchObject({
      license: 'Apache-2.0',
      keywords: expect.arrayContaining(['browser', 'mcp']),
      homepage: `${REPOSITORY}#readme`,
      bugs: `${REPOSITORY}/issues`,
      repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: folder },
    });
});

it('names no package that is not published: documents install from the clone', async () => {
  const documents = [
    ...(await pages()),
    ...(await filesOf(['cli/commands', 'clients/python', 'console/web'], /\.(?:md|tsx?)$/)),
  ];
  expect(documents.length).toBeGreaterThan(40);
  const taken =
    /npx (?!--no-install )(?:-\S+ )*@?omicron-browser\b|pip install omicron-browser|npm install omicron-browser/;
  expect(documents.filter(([, text]) => taken.test(text)).map(([path]) => path)).toEqual([]);
});
