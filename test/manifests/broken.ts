import type { KubernetesObject } from '../../manifests/render.ts';

/** One change to rendered manifests, as made by hand. */
export type Change = (manifests: readonly KubernetesObject[]) => readonly KubernetesObject[];

/**
 * Puts `value` at a path of the object (`spec.ports.0.name`; `-` appends to a list); undefined takes away what is
 * there.
 */
export const set =
  (kind: string, name: string, path: string, value: unknown): Change =>
  manifests =>
    manifests.map(manifest =>
      manifest.kind === kind && manifest.metadata.name === name
        ? (put(manifest, path.split('.'), value) as KubernetesObject) // a changed field leaves it an object
        : manifest,
    );

/** The same in the spec of the pods that the object makes. */
export const inPod = (kind: 'Deployment' | 'PodTemplate', name: string, path: string, value: unknown): Change =>
  set(kind, name, `${kind === 'PodTemplate' ? '' : 'spec.'}template.spec.${path}`, value);

export const add =
  (apiVersion: string, kind: string, name: string, namespace?: string, more: object = {}): Change =>
  manifests => [...manifests, { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) }, ...more }];

export const remove =
  (kind: string, name: string, namespace?: string): Change =>
  manifests => {
    const left = manifests.filter(
      each => each.kind !== kind || each.metadata.name !== name || (namespace && each.metadata.namespace !== namespace),
    );
    if (left.length !== manifests.length - 1) throw new Error(`there is not one ${kind} ${name}`);
    return left;
  };

export const both =
  (...changes: readonly Change[]): Change =>
  manifests =>
    changes.reduce((before, change) => change(before), manifests);

function put(node: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  if (Array.isArray(node)) {
    if (step === '-') return [...node, value];
    return node.map((each, index) => (String(index) === step ? (rest.length ? put(each, rest, value) : value) : each));
  }
  if (typeof node !== 'object' || node === null) throw new Error(`nothing to change at ${step}`);
  const { [step]: old, ...others } = node as Record<string, unknown>; // an object, as just seen
  if (rest.length === 0) return value === undefined ? others : { ...others, [step]: value };
  return { ...others, [step]: put(old, rest, value) };
}
