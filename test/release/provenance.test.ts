import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../../release/catalogue.ts';
import { npmProvenance } from '../../release/provenance.ts';
import { newFolder, run } from '../local/machine.ts';

const GITHUB = {
  GITHUB_ACTIONS: 'true',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_REPOSITORY: REPOSITORY.replace('https://github.com/', ''),
};
const GITHUB_IDENTITY = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'secret' };
const GITLAB = { GITLAB_CI: 'true', CI_PROJECT_URL: REPOSITORY };

it.each([
  ['GitHub Actions', { ...GITHUB, ...GITHUB_IDENTITY }],
  ['GitLab CI', { ...GITLAB, SIGSTORE_ID_TOKEN: 'a.b.c' }],
])('npm packages get provenance in a job of %s with an identity', (name, environment) => {
  const says = `npm packages get provenance by the identity of this job of ${name}`;
  expect(npmProvenance(environment, false)).toEqual({ args: ['--provenance'], says });
});

it.each([
  ['GitHub Actions', GITHUB, 'id-token: write'],
  ['GitHub Actions', { ...GITHUB, ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token' }, 'id-token: write'],
  ['GitLab CI', GITLAB, 'SIGSTORE_ID_TOKEN'],
])('a job of %s without an identity publishes nothing, unless that is asked for', (name, environment, remedy) => {
  expect(() => npmProvenance(environment, false)).toThrow(`this job of ${name} has no identity`);
  expect(() => npmProvenance(environment, false)).toThrow(remedy);
  const says = 'npm packages are without provenance: --without-provenance';
  expect(npmProvenance(environment, true)).toEqual({ args: ['--provenance=false'], says });
});

it('a job of another repository publishes nothing: npm would refuse its provenance', () => {
  const environment = { ...GITHUB, ...GITHUB_IDENTITY, GITHUB_REPOSITORY: 'stranger/fork' };
  expect(() => npmProvenance(environment, false)).toThrow('this job is of https://github.com/stranger/fork');
});

it('elsewhere packages are published without provenance, which is said', () => {
  const says = 'npm packages are without provenance: only jobs of GitHub Actions and GitLab CI can attest it';
  expect(npmProvenance({ SIGSTORE_ID_TOKEN: 'a.b.c' }, false)).toEqual({ args: ['--provenance=false'], says });
});

it("npm takes these arguments, and refuses to attest where it knows no job's identity", async () => {
  const folder = await newFolder();
  await mkdir(join(folder, 'a'));
  await writeFile(join(folder, 'a', 'package.json'), JSON.stringify({ name: 'a', version: '1.0.0' }));
  // no registry answers there
  const npm = (args: readonly string[]) =>
    run('npm', ['publish', './a', '--registry=http://127.0.0.1:1', '--fetch-retries=0', ...args], {
      cwd: folder,
      env: { NPM_CONFIG_USERCONFIG: join(folder, 'npmrc'), npm_config_cache: join(folder, 'cache'), CI: '' },
    });
  await writeFile(join(folder, 'npmrc'), '//127.0.0.1:1/:_authToken=none\n');
  const attested = await npm(npmProvenance({ ...GITHUB, ...GITHUB_IDENTITY }, false).args);
  expect([attested.code, attested.stderr]).toEqual([1, expect.stringMatching(/provenance/i)]);
  const plain = await npm(npmProvenance({}, false).args);
  expect([plain.code, plain.stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
});

it('the workflow of a release gives the identity to the job that signs and publishes, and to no other', async () => {
  const workflow = parse(await readFile('.github/workflows/release.yml', 'utf8'));
  expect(workflow.permissions).toEqual({ contents: 'read' });
  const jobs = Object.entries<{ permissions?: Record<string, string>; steps: { run?: string }[] }>(workflow.jobs);
  const commandsOf = (steps: { run?: string }[]) => steps.map(({ run: command = '' }) => command).join('\n');
  for (const [, { permissions = {}, steps }] of jobs) {
    const needsIdentity = /release -- (sign|publish)/.test(commandsOf(steps));
    expect(permissions['id-token']).toBe(needsIdentity ? 'write' : undefined);
    expect(commandsOf(steps)).not.toContain('--key');
  }
  expect(jobs.filter(([, { permissions }]) => permissions?.['id-token']).map(([name]) => name)).toEqual(['sign']);
});
