import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { REF_NAME } from '../../cli/verify/folder.ts';
import { writeReleaseImages } from '../../cluster/images.ts';
import { besideCluster } from '../../cluster/kubectl.ts';
import { CLUSTER_IMAGES } from '../../images/context.ts';
import { type Layout, openLayout } from '../../release/oci/layout.ts';
import { startRegistry } from '../../release/oci/local-registry.ts';
import { pushRelease } from '../../release/oci/push.ts';
import { signRelease } from '../../release/oci/sign.ts';
import { keySigner } from '../../release/oci/signing-key.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { buildSigstore } from './real-sigstore.ts';

// The images that a cluster runs, built here by buildah, as parts of a release: minutes, and 2 GB.

const VERSION = '1.2.3';
const COMMIT = 'c0ffee'.padEnd(40, '0');
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let folder: string;
let keyFile: string;
let cosign: string;
beforeAll(async () => {
  cosign = buildSigstore().cosign;
  folder = await newFolder();
  keyFile = join(folder, 'cosign.pub');
  await writeFile(keyFile, keys.publicKey.export({ type: 'spki', format: 'pem' }));
});

const tool = () =>
  besideCluster('cluster') ?? expect.unreachable('no cluster beside the checkout has a base for images');

async function digestsOf(layout: Layout): Promise<Record<string, string>> {
  const named = (await layout.entries()).flatMap(({ annotations, digest }) => {
    const name = annotations?.[REF_NAME];
    return name === undefined ? [] : [[name, digest]];
  });
  return Object.fromEntries(named);
}

/** The images in a layout, signed by the key, with what each holds and how it was built. */
async function signedImages(): Promise<Layout> {
  const release = join(folder, 'release');
  const files = await writeReleaseImages(tool(), { folder: release, version: VERSION, again: false }, process.env);
  const sboms = Object.fromEntries(
    await Promise.all(
      Object.entries(files).map(async ([name, file]) => [name, JSON.parse(await readFile(file, 'utf8'))]),
    ),
  );
  const layout = await openLayout(release);
  const by = { signer: keySigner(keys.privateKey), commit: COMMIT, builder: 'https://ci.example.com/jobs/3' };
  expect(await signRelease(layout, { version: VERSION, ...by, sboms })).toEqual(CLUSTER_IMAGES);
  return layout;
}

describe('the images that a cluster runs', () => {
  let layout: Layout;
  beforeAll(async () => {
    layout = await signedImages();
  });

  it('are verified from a folder and a registry with signature, provenance and SBOM, by cosign too, and refused for another key', {
    timeout: 900_000,
  }, async () => {
    await using registry = await startRegistry(true);
    const base = `${registry.host}/omicron-browser`;
    await pushRelease(layout, base);
    const verify = (from: string, key: string) =>
      run(process.execPath, [
        ...[join(ROOT, 'cli', 'bin.js'), 'verify', VERSION, '--from', from, '--key', key, '-o', 'json'],
        ...['--only', ...CLUSTER_IMAGES],
      ]);
    const digests = await digestsOf(layout);
    for (const from of [layout.folder, base]) {
      const { code, stdout, stderr } = await verify(from, keyFile);
      expect([code, stderr], from).toEqual([0, '']);
      const { parts } = JSON.parse(stdout) as { parts: { part: string; digest: string; commit: string }[] };
      expect(Object.fromEntries(parts.map(({ part, digest }) => [`${part}:${VERSION}`, digest]))).toEqual(digests);
      expect(new Set(parts.map(({ commit }) => commit))).toEqual(new Set([COMMIT]));
    }

    // As docs/verify.md has it, besides the registry's plain HTTP.
    const byCosign = (image: string, ...args: string[]) =>
      run(cosign, [...args, '--key', keyFile, '--insecure-ignore-tlog', '--allow-http-registry', `${base}/${image}`]);
    for (const part of CLUSTER_IMAGES) {
      expect((await byCosign(`${part}:${VERSION}`, 'verify')).code, part).toBe(0);
      for (const type of ['slsaprovenance1', 'cyclonedx']) {
        const { code, stdout } = await byCosign(`${part}:${VERSION}`, 'verify-attestation', `--type=${type}`);
        expect(code, `${part} ${type}`).toBe(0);
        const text = Buffer.from(JSON.parse(stdout).payload, 'base64').toString();
        expect(text, `${part} ${type}`).toContain(type === 'cyclonedx' ? '"pkg:npm/' : COMMIT);
      }
    }
    const others = join(folder, 'others.pub');
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFile(others, publicKey.export({ type: 'spki', format: 'pem' }));
    const refused = await verify(base, others);
    expect(refused.code).toBe(1);
    for (const part of CLUSTER_IMAGES) expect(refused.stderr).toContain(`${part}: no valid signature`);
  });

  it('have the same digests in a release when they are built again without a cache', {
    timeout: 1_800_000,
  }, async () => {
    const second = join(folder, 'again');
    await writeReleaseImages(tool(), { folder: second, version: VERSION, again: true }, process.env);
    expect(await digestsOf(await openLayout(second))).toEqual(await digestsOf(layout));
  });
});
