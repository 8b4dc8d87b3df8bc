import { expect, test } from 'vitest';
import { dryRun, dryRunFaults } from '../../release/dry-run.ts';

const PARTS = ['omicron-browser', 'manifests', 'packages'];

test('a dry run makes each part twice with the same digest, and verifies what it signed in a registry by its key alone', async () => {
  const result = await dryRun('c0ffee'.padEnd(40, '0'));
  expect(Object.keys(result.digests)).toEqual(PARTS);
  expect(result.reproducible).toEqual(Object.fromEntries(PARTS.map(part => [part, true])));
  expect(result.verified).toEqual(PARTS);
  expect(result.refused).toEqual(PARTS);
  expect(dryRunFaults(result)).toEqual([]);
}, 240_000);

test('a part that differs, is not verified, or passes with another key is a fault that names it', () => {
  const digests = { manifests: 'sha256:1', packages: 'sha256:2' };
  const result = { version: '1.2.3', digests, reproducible: { packages: true }, verified: [], refused: ['packages'] };
  expect(dryRunFaults(result as Parameters<typeof dryRunFaults>[0])).toEqual([
    'manifests has another digest when it is built again',
    'manifests does not verify with the key that signed it',
    'manifests verifies with a key that did not sign it',
    'packages does not verify with the key that signed it',
  ]);
});
