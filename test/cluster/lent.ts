import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Yaml } from 'cdk8s';
import { besideCluster, kubectl, stream } from '../../cluster/kubectl.ts';
import type { KubernetesObject } from '../../manifests/render.ts';

const keyOf = ({ kind, metadata }: KubernetesObject): string => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

// Bindings and policies go first: what they protect must be deletable.
const GO_LAST = ['Namespace', 'CustomResourceDefinition'];

/** Additions of a test to a cluster that others use too: it adds what is missing, and takes away no more than that. */
export class Lent {
  readonly #made: KubernetesObject[] = [];

  /** Applies what is not there yet, in order. */
  async borrow(manifests: readonly KubernetesObject[]): Promise<void> {
    const text = await kubectl(['get', '-f', '-', '--ignore-not-found', '-o', 'json'], stream(manifests));
    // One object comes alone, several as a List, none as nothing.
    const found =
      text.trim() === '' ? undefined : (JSON.parse(text) as KubernetesObject & { items?: KubernetesObject[] });
    const there = new Set((found?.items ?? (found ? [found] : [])).map(keyOf));
    const missing = manifests.filter(manifest => !there.has(keyOf(manifest)));
    if (missing.length === 0) return;
    this.#made.push(...missing);
    await kubectl(['apply', '--server-side', '-f', '-'], stream(missing));
  }

  /** Deletes what was added. A namespace takes along what is in it. */
  async giveBack(): Promise<void> {
    const namespaces = new Set(
      this.#made.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name),
    );
    const left = this.#made
      .filter(({ metadata }) => !namespaces.has(metadata.namespace ?? ''))
      .toSorted((a, b) => Number(GO_LAST.includes(a.kind)) - Number(GO_LAST.includes(b.kind)));
    if (left.length > 0) await kubectl(['delete', '--ignore-not-found', '-f', '-'], stream(left));
  }
}

/** Argo CD's kinds, from the cluster beside the checkout; elsewhere Argo CD must be installed. */
export function argoCrds(): KubernetesObject[] {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } };
  const packed = besideCluster('bin/argocd-crds.yaml.zst');
  if (!packed) return [namespace];
  const folder = mkdtempSync(join(tmpdir(), 'crds-'));
  try {
    execFileSync('zstd', ['-dqo', join(folder, 'all.yaml'), packed]);
    return [namespace, ...(Yaml.load(join(folder, 'all.yaml')) as KubernetesObject[])];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
