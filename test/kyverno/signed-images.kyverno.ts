import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NAMESPACES } from '../../contract/names.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { startRegistry } from '../../release/oci/local-registry.ts';
import { buildGoTool } from '../go-tool.ts';
import { newFolder, run } from '../local/machine.ts';
import { pushed } from '../manifests/pushed.ts';
import { changedImage, imageLayout, pushTestImage, type TestImage } from './test-images.ts';

// Kyverno's own command judges pods by the rendered policy, and asks a registry on loopback for signatures.

const ours = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const others = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const prod = pushed(ENVIRONMENTS.prod);

let kyverno = '';
let folder = '';
let registry: Awaited<ReturnType<typeof startRegistry>>;
const pushImage = (name: string, image: TestImage) => pushTestImage(registry.host, name, image);

beforeAll(async () => {
  const module = 'github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno';
  kyverno =
    buildGoTool({ name: 'kyverno', folder: import.meta.dirname, module }, why => {
      throw new Error(why);
    }) ?? '';
  folder = await newFolder();
  registry = await startRegistry(true);
  const publicKey = String(ours.publicKey.export({ type: 'spki', format: 'pem' }));
  const objects = renderObjects({ ...prod, signedImages: { publicKey } });
  const policy = objects.get('core/cluster/imagevalidatingpolicy.omicron-signed-images.yaml');
  await writeFile(join(folder, 'policy.yaml'), JSON.stringify(policy));
  const namespaceSelector = Object.values(NAMESPACES).map(name => ({
    name,
    labels: { 'kubernetes.io/metadata.name': name },
  }));
  const values = { apiVersion: 'cli.kyverno.io/v1alpha1', kind: 'Values', namespaceSelector };
  await writeFile(join(folder, 'values.yaml'), JSON.stringify(values));
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
});

/** Kyverno's counts for a pod. A registry that cannot be read would be an error, not a failure. */
async function judge(spec: unknown, namespace: string = NAMESPACES.runners): Promise<string> {
  await writeFile(
    join(folder, 'pod.yaml'),
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a-pod', namespace }, spec }),
  );
  const files = ['policy.yaml', '--resource', 'pod.yaml', '--values-file', 'values.yaml'].map(each =>
    each.startsWith('-') ? each : join(folder, each),
  );
  const { stdout, stderr } = await run(kyverno, ['apply', ...files, '--registry']);
  return /^pass: .*error: \d+/m.exec(stdout)?.[0] ?? `${stdout}${stderr}`;
}
const podOf = (image: string) => ({ containers: [{ name: 'runner', image }] });
const ADMITTED = 'pass: 1, fail: 0, warn: 0, error: 0';
const REFUSED = 'pass: 0, fail: 1, warn: 0, error: 0';
const NOT_JUDGED = 'pass: 0, fail: 0, warn: 0, error: 0';

it('an image that the key signed is admitted, as a container and as an init container', async () => {
  const image = await pushImage('signed', await imageLayout('signed', ours.privateKey));
  expect(await judge(podOf(image))).toBe(ADMITTED);
  expect(await judge({ ...podOf(image), initContainers: [{ name: 'init', image }] })).toBe(ADMITTED);
  expect(await judge(podOf(image), NAMESPACES.system)).toBe(ADMITTED);
});

it('an unsigned image is refused, beside a signed one and as an init container too', async () => {
  const signed = await pushImage('beside', await imageLayout('beside', ours.privateKey));
  const unsigned = await pushImage('unsigned', await imageLayout('unsigned'));
  expect(await judge(podOf(unsigned))).toBe(REFUSED);
  const both = { containers: [...podOf(signed).containers, { name: 'other', image: unsigned }] };
  expect(await judge(both)).toBe(REFUSED);
  expect(await judge({ ...podOf(signed), initContainers: [{ name: 'init', image: unsigned }] })).toBe(REFUSED);
  expect(await judge(podOf(unsigned), NAMESPACES.system)).toBe(REFUSED);
});

it('a foreign image is refused: one that another key signed', async () => {
  const image = await pushImage('foreign', await imageLayout('foreign', others.privateKey));
  expect(await judge(podOf(image))).toBe(REFUSED);
});

it('a changed image is refused, although the signatures of the original are attached to it', async () => {
  const changed = await changedImage(ours.privateKey);
  expect(await judge(podOf(await pushImage('changed', changed)))).toBe(REFUSED);
});

it('the pause image of spare runners is admitted without a signature', async () => {
  expect(await judge(podOf(prod.images.pause))).toBe(ADMITTED);
});

it('pods of other namespaces are not judged', async () => {
  const image = await pushImage('elsewhere', await imageLayout('elsewhere'));
  expect(await judge(podOf(image), 'default')).toBe(NOT_JUDGED);
});
