import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Descriptor, RELEASE_PARTS, type ReleasePart } from '../cli/verify/contents.ts';
import { REF_NAME } from '../cli/verify/folder.ts';
import { keyPublisher } from '../cli/verify/publisher.ts';
import { registrySource } from '../cli/verify/registry.ts';
import { verifyRelease } from '../cli/verify/verify.ts';
import { REPOSITORY } from './catalogue.ts';
import { bundleRelease, packagesSbom, packPackages } from './oci/bundle.ts';
import { type Layout, openLayout } from './oci/layout.ts';
import { startRegistry } from './oci/local-registry.ts';
import { pushRelease } from './oci/push.ts';
import { signRelease } from './oci/sign.ts';
import { keySigner } from './oci/signing-key.ts';
import { readVersion } from './version.ts';

/** The result of a release that was made, signed, pushed and verified on this machine alone. */
export interface DryRun {
  readonly version: string;
  readonly digests: Readonly<Partial<Record<ReleasePart, string>>>;
  /** Parts that were built twice: whether both have the same digest. */
  readonly reproducible: Readonly<Partial<Record<ReleasePart, boolean>>>;
  /** Parts that the registry gave back as they were signed. */
  readonly verified: readonly ReleasePart[];
  /** Parts that were refused with another key: all of them. */
  readonly refused: readonly ReleasePart[];
}

/**
 * Makes what a release has besides images, twice, signs it with a key that is not kept, pushes it to a registry in this process, and
 * verifies it there as `omicron-browser verify` does, with that key and with another. Sends nothing.
 */
export async function dryRun(commit: string): Promise<DryRun> {
  const version = await readVersion();
  const folder = await mkdtemp(join(tmpdir(), 'omicron-dry-run-'));
  try {
    const layout = await bundled(join(folder, 'first'), version);
    const digests = await digestsOf(layout, version);
    const again = await digestsOf(await bundled(join(folder, 'again'), version), version);
    const parts = Object.keys(digests) as ReleasePart[]; // its keys
    const { privateKey, publicKey } = newKeys();
    const sboms = { packages: await packagesSbom() };
    await signRelease(layout, { version, signer: keySigner(privateKey), commit, builder: REPOSITORY, sboms });
    await using registry = await startRegistry(true);
    const base = `${registry.host}/omicron-browser`;
    await pushRelease(layout, base);
    const sound = async (key: KeyObject) =>
      (await verifyRelease(registrySource(base), { version, publisher: keyPublisher(key), parts })).filter(
        ({ faults }) => faults.length === 0,
      );
    const verified = (await sound(publicKey)).map(({ part }) => part);
    const forged = (await sound(newKeys().publicKey)).map(({ part }) => part);
    return {
      version,
      digests,
      reproducible: Object.fromEntries(parts.map(part => [part, digests[part] === again[part]])),
      verified,
      refused: parts.filter(part => !forged.includes(part)),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

async function bundled(folder: string, version: string): Promise<Layout> {
  const layout = await openLayout(folder);
  await bundleRelease(layout, { version, packages: await packPackages() });
  return layout;
}

async function digestsOf(layout: Layout, version: string): Promise<DryRun['digests']> {
  const entries = await layout.entries();
  const digestOfPart = (part: string) => entries.find(each => nameOf(each) === `${part}:${version}`)?.digest;
  return Object.fromEntries(
    Object.keys(RELEASE_PARTS)
      .map(part => [part, digestOfPart(part)])
      .filter(([, digest]) => digest !== undefined),
  );
}

const nameOf = ({ annotations }: Descriptor): string | undefined => annotations?.[REF_NAME];

/** Faults of a dry run, as sentences; none: a release can be made. */
export function dryRunFaults({ digests, reproducible, verified, refused }: DryRun): readonly string[] {
  return (Object.keys(digests) as ReleasePart[]).flatMap(part => [
    ...(reproducible[part] ? [] : [`${part} has another digest when it is built again`]),
    ...(verified.includes(part) ? [] : [`${part} does not verify with the key that signed it`]),
    ...(refused.includes(part) ? [] : [`${part} verifies with a key that did not sign it`]),
  ]);
}
