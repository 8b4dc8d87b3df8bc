import { generateKeyPairSync, sign } from 'node:crypto';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type OciManifest, RELEASE_PARTS, type ReleasePart } from '../../cli/verify/contents.ts';
import { verifyStatement } from '../../cli/verify/statement.ts';
import { bundleRelease } from '../../release/oci/bundle.ts';
import { type Layout, openLayout } from '../../release/oci/layout.ts';
import { startRegistry } from '../../release/oci/local-registry.ts';
import { pushRelease } from '../../release/oci/push.ts';
import { signRelease } from '../../release/oci/sign.ts';
import { keySigner } from '../../release/oci/signing-key.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { changedBundles, payloadOf } from './changed-bundles.ts';

const VERSION = '1.2.3';
const COMMIT = 'c0ffee'.padEnd(40, '0');
const IMAGES = (Object.keys(RELEASE_PARTS) as ReleasePart[]).filter(part => RELEASE_PARTS[part] === 'image');
const SBOM = { bomFormat: 'CycloneDX', specVersion: '1.5', components: [] };
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const others = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let folder = '';
let keyFile = '';
let otherKeyFile = '';

/** Images are one layer each; packages one file: the forms that the real ones have. */
async function writeRelease(to: string, signer = keys.privateKey): Promise<Layout> {
  const layout = await openLayout(to);
  await bundleRelease(layout, {
    version: VERSION,
    packages: new Map([['omicron-browser-1.2.3.tgz', Buffer.from('a package')]]),
  });
  for (const part of IMAGES)
    await layout.add({
      name: `${part}:${VERSION}`,
      config: {
        mediaType: 'application/vnd.oci.image.config.v1+json',
        bytes: Buffer.from(`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`),
      },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', bytes: Buffer.from(`files of ${part}`) }],
    });
  const sboms = Object.fromEntries([...IMAGES, 'packages'].map(part => [part, SBOM]));
  await signRelease(layout, {
    version: VERSION,
    signer: keySigner(signer),
    commit: COMMIT,
    builder: 'https://example.com',
    sboms,
  });
  return layout;
}

beforeAll(async () => {
  folder = join(await newFolder(), 'release');
  await writeRelease(folder);
  keyFile = join(folder, '..', 'key.pub');
  otherKeyFile = join(folder, '..', 'other.pub');
  await writeFile(keyFile, keys.publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(otherKeyFile, others.publicKey.export({ type: 'spki', format: 'pem' }));
});

const verify = (from: string, ...args: string[]) =>
  run(process.execPath, [join(ROOT, 'cli', 'bin.js'), 'verify', VERSION, '--from', from, ...args, '-o', 'json']);

interface Parts {
  parts: { part: string; digest?: string; commit?: string; faults: string[] }[];
}
const faultsOf = (stdout: string) =>
  Object.fromEntries((JSON.parse(stdout) as Parts).parts.map(({ part, faults }) => [part, faults.join('\n')]));

/** A copy of the release in which one file of a part, found by its media type, is another. */
async function changedCopy(part: string, mediaType: string, change: (bytes: Buffer) => Buffer): Promise<string> {
  const copy = join(await newFolder(), 'release');
  await cp(folder, copy, { recursive: true });
  const entries = await (await openLayout(copy)).entries();
  const blob = (digest: string) => join(copy, 'blobs', ...digest.split(':'));
  const own = entries.find(({ annotations }) => Object.values(annotations ?? {}).includes(`${part}:${VERSION}`));
  for (const { digest } of entries) {
    const manifest = JSON.parse(await readFile(blob(digest), 'utf8')) as OciManifest;
    if (digest !== own?.digest && manifest.subject?.digest !== own?.digest) continue;
    for (const layer of manifest.layers ?? [])
      if (layer.mediaType === mediaType)
        await writeFile(blob(layer.digest), change(await readFile(blob(layer.digest))));
  }
  return copy;
}

describe('a folder, without any network', () => {
  test('every part of a release is verified, with its digest and commit', async () => {
    const { code, stdout, stderr } = await verify(folder, '--key', keyFile);
    expect([code, stderr]).toEqual([0, '']);
    const { parts } = JSON.parse(stdout) as Parts;
    expect(parts.map(({ part }) => part)).toEqual(Object.keys(RELEASE_PARTS));
    for (const { digest, commit } of parts)
      expect([digest, commit]).toEqual([expect.stringMatching(/^sha256:/), COMMIT]);
  });

  test('signatures of another key are refused, and the key is named', async () => {
    const { code, stderr } = await verify(folder, '--key', otherKeyFile, '--only', 'manifests');
    expect(code).toBe(1);
    expect(stderr).toContain('manifests: no valid signature');
    expect(stderr).toContain('it is signed by another key');
    expect(stderr).toMatch(/^next: deploy nothing that another signed; if the publisher has a new key/m);
  });

  test('a changed layer is refused by name, and other parts are not', async () => {
    const copy = await changedCopy('omicron-browser', 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', bytes =>
      Buffer.concat([bytes, Buffer.from('x')]),
    );
    const { code, stdout } = await verify(copy, '--key', keyFile);
    expect(code).toBe(1);
    const { 'omicron-browser': chart, ...rest } = faultsOf(stdout);
    expect(chart).toMatch(/^sha256:\w{64} was changed/);
    expect(new Set(Object.values(rest))).toEqual(new Set(['']));
  });

  test('a changed bundle is refused', async () => {
    const bundle = 'application/vnd.dev.sigstore.bundle.v0.3+json';
    const copy = await changedCopy('runner', bundle, bytes =>
      Buffer.from(bytes.toString().replace('"payload":"ey', '"payload":"eY')),
    );
    const { code, stdout, stderr } = await verify(copy, '--key', keyFile, '--only', 'runner');
    expect(code).toBe(1);
    expect(faultsOf(stdout).runner).toContain('its bundle was changed');
    expect(stderr).toContain(
      'next: get the release again from where it was published, and deploy nothing of this copy',
    );
  });

  test('a bundle whose text was changed, or that another key signed under our name, is refused although its digests fit', async () => {
    const copy = await changedBundles(folder, (envelope, statement) => {
      // the provenance gets another commit; every other statement a signature of something else
      if (statement.includes(COMMIT)) envelope.payload = payloadOf(statement.replace(COMMIT, 'bad0'.padEnd(40, '0')));
      else
        for (const each of envelope.signatures)
          each.sig = sign('sha256', Buffer.from(statement), others.privateKey).toString('base64');
    });
    const { code, stdout } = await verify(copy, '--key', keyFile);
    expect(code).toBe(1);
    for (const [part, faults] of Object.entries(faultsOf(stdout))) {
      expect(faults, part).toContain('no valid signature: ');
      expect(faults, part).toContain('no valid provenance: ');
      expect(faults, part).toContain('its signature does not fit its text: it was changed');
    }
  });

  test('a part without SBOM, and one that is not there, are refused', async () => {
    const copy = join(await newFolder(), 'release');
    await cp(folder, copy, { recursive: true });
    const index = join(copy, 'index.json');
    const { manifests, ...rest } = JSON.parse(await readFile(index, 'utf8')) as Required<OciManifest>;
    const blob = async (digest: string) => await readFile(join(copy, 'blobs', ...digest.split(':')), 'utf8');
    const kept = [];
    for (const each of manifests)
      if (!(await blob(each.digest)).includes('cyclonedx') && !JSON.stringify(each).includes('egress:'))
        kept.push(each);
    await writeFile(index, JSON.stringify({ ...rest, manifests: kept }));
    const { code, stdout, stderr } = await verify(copy, '--key', keyFile);
    expect(code).toBe(1);
    for (const step of ['copy it with its referrers (oras copy -r)', 'check --from and the version'])
      expect(stderr).toContain(`next: ${step}`);
    expect(faultsOf(stdout)).toMatchObject({
      runner: 'no sbom is attached to it',
      egress: `egress:${VERSION} is not in ${copy}`,
      manifests: '',
    });
  });

  test('a signed part under the name of another version is refused', async () => {
    const copy = join(await newFolder(), 'release');
    await cp(folder, copy, { recursive: true });
    const index = join(copy, 'index.json');
    await writeFile(index, (await readFile(index, 'utf8')).replaceAll(`:${VERSION}"`, ':1.2.4"'));
    const { code, stderr } = await run(process.execPath, [
      join(ROOT, 'cli', 'bin.js'),
      'verify',
      '1.2.4',
      '--from',
      copy,
      '--key',
      keyFile,
      '--only',
      'manifests',
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(`it is manifests ${VERSION}, under the name of manifests 1.2.4`);
  });

  test('a referrer that is no bundle is refused in one line', () => {
    const nobody = () => expect.unreachable();
    for (const text of ['no JSON', '{}'])
      expect(() => verifyStatement(Buffer.from(text), nobody), text).toThrow(/^it is no sigstore bundle$/);
  });

  test.each([
    ['https://example.com/x', 'is no repository of a registry: write it as', 'check the address of --from'],
    ['127.0.0.1:9/x', '127.0.0.1:9/x cannot be reached', 'copy the release into a folder'],
  ])('a place that is none is refused with what to write: %s', async (from, why, step) => {
    const { code, stderr } = await verify(from, '--key', keyFile, '--only', 'manifests');
    expect(code).toBe(1);
    expect(stderr).toContain(`manifests: `);
    expect(stderr).toContain(why);
    expect(stderr).toContain(step);
  });

  test('a key that is none is a fault of the command line', async () => {
    const none = await verify(folder, '--key', join(folder, 'none.pub'));
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('none.pub cannot be read')]);
    const wrong = await verify(folder, '--key', join(folder, 'index.json'));
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('is no public key in PEM')]);
  });
});

test.each([true, false])(
  'a registry has the release with its referrers (with the API of referrers: %s)',
  async hasApi => {
    await using registry = await startRegistry(hasApi);
    const base = `${registry.host}/omicron-browser`;
    const pushed = await pushRelease(await openLayout(folder), base);
    expect(pushed).toHaveLength(Object.keys(RELEASE_PARTS).length);
    expect((await verify(base, '--key', keyFile)).code).toBe(0);
    // twice: what is there already does no harm
    await pushRelease(await openLayout(folder), base);
    const { code, stdout } = await verify(base, '--key', otherKeyFile, '--only', 'runner');
    expect(code).toBe(1);
    expect(faultsOf(stdout).runner).toContain('signed by another key');
    const missing = await verify(`${registry.host}/elsewhere`, '--key', keyFile, '--only', 'runner');
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining(`elsewhere/runner has no ${VERSION}`)]);
  },
);

test('chart, manifests and their layout have the same bytes when they are made twice', async () => {
  const again = join(await newFolder(), 'release');
  const packages = new Map([['omicron-browser-1.2.3.tgz', Buffer.from('a package')]]);
  await bundleRelease(await openLayout(again), { version: VERSION, packages });
  const there = new Set(await readdir(join(folder, 'blobs', 'sha256')));
  const made = await readdir(join(again, 'blobs', 'sha256'));
  expect(made.length).toBeGreaterThanOrEqual(7);
  expect(made.filter(digest => !there.has(digest))).toEqual([]);
});
