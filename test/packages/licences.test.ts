import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type Lock, licencesOf } from './licences.ts';

describe('licences', () => {
  it('[P7] allow everything that ships', async () => {
    const { packages, refused } = licencesOf(JSON.parse(await readFile('package-lock.json', 'utf8')).packages);
    expect(refused).toEqual([]);
    const names = [...packages.values()].flat().join(' ');
    for (const shipped of ['zod@', '@playwright/mcp@', '@kubernetes/client-node@', '@aws-sdk/client-s3@', 'node@'])
      expect(names).toContain(shipped);
    expect(names).not.toMatch(/vitest|@pulumi/);
  });

  it('keep packages under the AGPL to the tests: operators run the infrastructure, the manifests and their rules too', async () => {
    const lock = JSON.parse(await readFile('package-lock.json', 'utf8')).packages;
    const { packages } = licencesOf(lock, ['infra', 'manifests', 'policies', 'images', 'release', 'cluster']);
    expect([...packages.keys()].filter(licence => licence.includes('AGPL'))).toEqual([]);
  });

  const lockWith = (license: string | undefined): Lock => ({
    app: { dependencies: { a: '1.0.0', b: '1.0.0' } },
    'node_modules/a': { version: '1.0.0', license: 'MIT', dependencies: { b: '2.0.0' } },
    'node_modules/a/node_modules/b': { version: '2.0.0', license: 'MIT', dependencies: { c: '1.0.0' } },
    'node_modules/b': { version: '1.0.0', license: 'MIT' },
    'node_modules/c': { version: '1.0.0', ...(license === undefined ? {} : { license }) },
    'node_modules/unused': { version: '1.0.0', license: 'AGPL-3.0-only' },
  });

  it.each(['GPL-3.0-only', 'AGPL-3.0-only', 'SSPL-1.0', 'MIT AND GPL-2.0-only', 'SEE LICENSE IN LICENSE', undefined])(
    'refuse a package under %s, however deep it is needed',
    license => {
      expect(licencesOf(lockWith(license), ['app']).refused).toEqual([`c@1.0.0: ${license ?? 'not stated'}`]);
    },
  );

  it.each(['MIT', '(GPL-2.0-only OR MIT)', 'MIT AND ISC'])('allow a package under %s', license => {
    const { packages, refused } = licencesOf(lockWith(license), ['app']);
    expect(refused).toEqual([]);
    expect([...packages.values()].flat().sort()).toEqual(['a@1.0.0', 'b@1.0.0', 'b@2.0.0', 'c@1.0.0']);
  });
});
