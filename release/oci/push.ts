import { readFile } from 'node:fs/promises';
import { type Descriptor, MEDIA, type OciManifest } from '../../cli/verify/contents.ts';
import { blobFile, REF_NAME } from '../../cli/verify/folder.ts';
import { type RegistryFetch, referrersTag, registryFetch } from '../../cli/verify/registry.ts';
import type { Layout } from './layout.ts';

/** Pushes every named manifest of the layout to `<base>/<name>`, and after it what refers to it. Returns the references. */
export async function pushRelease(layout: Layout, base: string): Promise<readonly string[]> {
  const read = (digest: string) => readFile(blobFile(layout.folder, digest));
  const parsed = async ({ digest }: Descriptor) => JSON.parse((await read(digest)).toString()) as OciManifest;
  const entries = await Promise.all(
    (await layout.entries()).map(async entry => ({ entry, manifest: await parsed(entry) })),
  );
  const pushed: string[] = [];
  for (const { entry, manifest } of entries) {
    const [part, tag] = entry.annotations?.[REF_NAME]?.split(':') ?? [];
    if (part === undefined || tag === undefined) continue;
    const registry = registryFetch(`${base}/${part}`);
    await pushManifest(registry, entry, manifest, tag);
    const about = entries.filter(each => each.manifest.subject?.digest === entry.digest);
    let listed = true;
    for (const each of about)
      listed = (await pushManifest(registry, each.entry, each.manifest, each.entry.digest)) && listed;
    if (!listed)
      await pushReferrersTag(
        registry,
        entry.digest,
        about.map(each => each.entry),
      );
    pushed.push(`${base}/${part}:${tag}`);
  }
  return pushed;

  /** False: the registry keeps no list of referrers. */
  async function pushManifest(registry: RegistryFetch, entry: Descriptor, manifest: OciManifest, reference: string) {
    for (const child of manifest.manifests ?? [])
      await pushManifest(registry, child, await parsed(child), child.digest);
    for (const blob of [manifest.config, ...(manifest.layers ?? [])])
      if (blob) await pushBlob(registry, blob.digest, await read(blob.digest));
    return await putManifest(registry, reference, entry.mediaType, await read(entry.digest));
  }
}

async function pushBlob(registry: RegistryFetch, digest: string, bytes: Buffer): Promise<void> {
  if ((await registry(`blobs/${digest}`, { method: 'HEAD' })).ok) return;
  const begun = await registry('blobs/uploads/', { method: 'POST' });
  const location = begun.headers.get('location');
  if (!begun.ok || location === null) throw new Error(`the registry takes no blob (${begun.status})`);
  const to = new URL(location, begun.url);
  to.searchParams.set('digest', digest);
  const done = await registry(to.href, {
    method: 'PUT',
    body: new Uint8Array(bytes),
    headers: { 'content-type': 'application/octet-stream' },
  });
  if (!done.ok) throw new Error(`the registry did not take ${digest} (${done.status})`);
}

async function putManifest(registry: RegistryFetch, reference: string, mediaType: string, bytes: Buffer) {
  const answer = await registry(`manifests/${reference}`, {
    method: 'PUT',
    body: new Uint8Array(bytes),
    headers: { 'content-type': mediaType },
  });
  if (!answer.ok) throw new Error(`the registry did not take the manifest ${reference} (${answer.status})`);
  return answer.headers.has('oci-subject');
}

/** The list of referrers, for a registry that keeps none; what others put there stays. */
async function pushReferrersTag(registry: RegistryFetch, digest: string, about: readonly Descriptor[]): Promise<void> {
  const tag = referrersTag(digest);
  const answer = await registry(`manifests/${tag}`);
  const there = answer.ok ? (((await answer.json()) as OciManifest).manifests ?? []) : [];
  const manifests = [...there.filter(({ digest: is }) => !about.some(each => each.digest === is)), ...about];
  const index = { schemaVersion: 2, mediaType: MEDIA.index, manifests };
  await putManifest(registry, tag, MEDIA.index, Buffer.from(JSON.stringify(index)));
}
