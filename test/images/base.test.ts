import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BASES, type Bases, baseOf, pinBases, requireDigest } from '../../images/base.ts';
import { IMAGES } from '../../images/context.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const committed: Bases = JSON.parse(await readFile(BASES, 'utf8'));

it('every base is locked with its tag, and by a digest or by none at all', () => {
  for (const name of IMAGES) {
    const { image, digest } = committed[name];
    expect(image).toMatch(/^[^@\s]+:(?!latest$)[\w.-]+$/);
    if (digest === null) expect(() => baseOf(name, committed)).toThrow(/npm run images -- --pin/);
    else expect(baseOf(name, committed)).toMatch(/^[^:]+@sha256:[0-9a-f]{64}$/);
  }
});

it.each([null, '', 'sha256:', `sha256:${'0'.repeat(64)}`, `sha256:${'f'.repeat(64)}`, 'latest'])(
  'a build is refused with the digest %s, and the error says what to run',
  digest => {
    const bases = { ...committed, runner: { image: 'registry.test/a/base:1', digest } };
    expect(() => baseOf('runner', bases)).toThrow(/registry\.test\/a\/base:1.*"npm run images -- --pin"/);
  },
);

it('a build is given the digest and not the tag, with a port in the name too', () => {
  const bases = { ...committed, runner: { image: 'registry.test:5000/a/base:1', digest: DIGEST } };
  expect(baseOf('runner', bases)).toBe(`registry.test:5000/a/base@${DIGEST}`);
});

it('pinning asks once for each base and keeps the tags', async () => {
  const pulled: string[] = [];
  const pull = async (image: string) => {
    pulled.push(image);
    return DIGEST;
  };
  const bases = await pinBases({ pull }, committed);
  expect(pulled).toEqual([...new Set(IMAGES.map(name => committed[name].image))]);
  for (const name of IMAGES) expect(bases[name]).toEqual({ image: committed[name].image, digest: DIGEST });
});

it('a base of one’s own needs a digest where the image is pushed', () => {
  for (const base of ['debian:12', `debian@sha256:${'0'.repeat(64)}`, DIGEST.slice(7)])
    expect(() => requireDigest(base)).toThrow(/NAME@sha256:DIGEST/);
  expect(() => requireDigest(`debian@${DIGEST}`)).not.toThrow();
});
