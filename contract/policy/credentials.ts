import * as z from 'zod';
import { siteKey } from '../secrets.ts';
import { coversPage, credentialTarget, httpsOrigin, registrableDomain } from './credential-target.ts';
import { POLICY_LAYERS, type PolicyLayer } from './sites.ts';

/** Places where the credential of each site key may be filled. */
export const credentialRules = z.record(siteKey, z.array(credentialTarget).min(1).max(64));
export type CredentialRules = z.infer<typeof credentialRules>;

export interface CredentialLayer {
  readonly layer: PolicyLayer;
  readonly credentials: CredentialRules;
}

export interface CredentialVerdict {
  readonly allowed: boolean;
  readonly layer: PolicyLayer | null;
  readonly reason: string;
}

/** The layers that name a key, narrowest first. */
const namingLayers = (layers: readonly CredentialLayer[], key: string): CredentialLayer[] =>
  layers
    .filter(({ credentials }) => Object.hasOwn(credentials, key))
    .sort((a, b) => POLICY_LAYERS.indexOf(b.layer) - POLICY_LAYERS.indexOf(a.layer));

const UNNAMED = (key: string) =>
  `nothing says where "${key}" may be used: store it again with its site ("omicron-browser credentials set ${key} --url DOMAIN ..."), or add it to "credentials" of a policy`;

/**
 * Whether the credential of a site key may be filled on a page of this origin (`https://host[:port]`). The credential's
 * own url and every layer that names the key must agree; a key that none of them names may be filled where the deployment's map
 * (`known`) has it, and one that this lacks too only where it is the page's registrable domain.
 */
export function decideCredential(
  layers: readonly CredentialLayer[],
  key: string,
  origin: string,
  own?: readonly string[],
  known?: readonly string[],
): CredentialVerdict {
  const url = httpsOrigin(origin);
  if (!url) return { allowed: false, layer: null, reason: 'credentials are filled on https origins only' };
  const naming = namingLayers(layers, key);
  const against = naming.find(({ credentials }) => !credentials[key]?.some(target => coversPage(target, url)));
  if (against)
    return {
      allowed: false,
      layer: against.layer,
      reason: `the ${against.layer} policy does not allow "${key}" on ${url.origin}`,
    };
  if (own && !own.some(target => coversPage(target, url)))
    return { allowed: false, layer: null, reason: `"${key}" is stored for ${own.join(', ')}, not for ${url.origin}` };
  const [named] = naming;
  if (named)
    return { allowed: true, layer: named.layer, reason: `the ${named.layer} policy allows "${key}" on ${url.origin}` };
  if (own) return { allowed: true, layer: null, reason: `"${key}" is stored for ${url.origin}` };
  if (registrableDomain(url.hostname) === key.toLowerCase())
    return { allowed: true, layer: null, reason: `"${key}" is the registrable domain of ${url.origin}` };
  if (known?.some(target => coversPage(target, url)))
    return { allowed: true, layer: null, reason: `"${key}" is known to be of ${url.origin}` };
  if (known) return { allowed: false, layer: null, reason: `"${key}" is of ${known.join(', ')}, not of ${url.origin}` };
  return { allowed: false, layer: null, reason: UNNAMED(key) };
}

/** Whether nothing says where the credential of a key may be filled: neither itself, a policy, the deployment, nor the key. */
export const hasNoPlace = (
  layers: readonly CredentialLayer[],
  key: string,
  own?: readonly string[],
  known?: readonly string[],
): boolean => namingLayers(layers, key).length === 0 && credentialTargets(layers, key, own, known).targets.length === 0;

/** Targets on which both allow a credential. */
const inBoth = (one: readonly string[], other: readonly string[]): string[] =>
  one.flatMap(target =>
    other.flatMap(each => {
      if (each === target) return [target];
      const [origin, domain] = target.includes('://') ? [target, each] : [each, target];
      const url = httpsOrigin(origin);
      return url !== null && !domain.includes('://') && coversPage(domain, url) ? [origin] : [];
    }),
  );

/** Places where `decideCredential` allows a key, as targets; where that is nowhere, why. */
export function credentialTargets(
  layers: readonly CredentialLayer[],
  key: string,
  own?: readonly string[],
  known?: readonly string[],
): { readonly targets: string[]; readonly reason: string | null } {
  const named = namingLayers(layers, key).map(({ credentials }) => credentials[key] ?? []);
  const [first, ...others] = own ? [own, ...named] : named;
  if (first === undefined) {
    const domain = key.toLowerCase();
    if (registrableDomain(domain) === domain) return { targets: [domain], reason: null };
    return known ? { targets: [...known].sort(), reason: null } : { targets: [], reason: UNNAMED(key) };
  }
  const targets = others.reduce<readonly string[]>(inBoth, first);
  return {
    targets: [...new Set(targets)].sort(),
    reason: targets.length > 0 ? null : `the policies and the url of "${key}" agree on no place; change one of them`,
  };
}
