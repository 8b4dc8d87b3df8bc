import { NETWORK_RULES } from './network-rules.ts';
import { OBJECT_RULES } from './object-rules.ts';
import { POD_RULES } from './pod-rules.ts';
import { isWaived, type Manifest, type ManifestFinding, type ManifestRule, WAIVER } from './rule.ts';

/** Every rule that the rendered manifests keep. */
export const MANIFEST_RULES: readonly ManifestRule[] = [...POD_RULES, ...OBJECT_RULES, ...NETWORK_RULES];

export interface ManifestViolation extends ManifestFinding {
  readonly rule: string;
}

/** Every violation that no annotation of the object waives. */
export const findManifestViolations = (env: string, manifests: readonly Manifest[]): readonly ManifestViolation[] =>
  checkManifests(env, manifests).filter(({ rule, manifest }) => !isWaived(rule, manifest));

/** Waivers that no finding needs any more: to be removed. */
export const findIdleManifestWaivers = (env: string, manifests: readonly Manifest[]): readonly string[] => {
  const all = checkManifests(env, manifests);
  return manifests.flatMap(manifest =>
    Object.keys(manifest.metadata.annotations ?? {})
      .filter(key => key.startsWith(WAIVER))
      .filter(key => !all.some(({ rule, manifest: its }) => its === manifest && `${WAIVER}${rule}` === key))
      .map(key => `${manifest.kind} ${manifest.metadata.name}: ${key}`),
  );
};

const checkManifests = (env: string, manifests: readonly Manifest[]): readonly ManifestViolation[] =>
  MANIFEST_RULES.filter(({ exceptIn }) => !exceptIn?.includes(env)).flatMap(rule =>
    rule.check(manifests).map(finding => ({ rule: rule.name, ...finding })),
  );
