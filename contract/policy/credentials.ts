import { getDomain } from 'tldts';
import * as z from 'zod';
import { siteKey } from '../secrets.ts';
import { canonicalHost } from './hosts.ts';
import { POLICY_LAYERS, type PolicyLayer } from './sites.ts';

/** Private suffixes count: `alice.github.io` and `bob.github.io` are two sites. */
const registrableDomain = (host: string): string | null => getDomain(host, { allowPrivateDomains: true });

/** An origin as a browser writes it, https only; null for anything else, userinfo and paths included. */
function httpsOrigin(text: string): URL | null {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  return text.toLowerCase() === url.origin ? url : null;
}

function canonicalTarget(text: string): string | null {
  if (httpsOrigin(text)) return text.toLowerCase();
  const host = text.includes('://') ? null : canonicalHost(text);
  return host !== null && registrableDomain(host) === host ? host : null;
}

/**
 * `https://accounts.example.com` is that origin alone; `example.com` is every https origin of that registrable
 * domain.
 */
export const credentialTarget = z
  .string()
  .max(300)
  .refine(text => canonicalTarget(text) !== null, {
    message: 'must be an origin such as https://accounts.example.com or a registrable domain such as example.com',
  })
  .overwrite(text => canonicalTarget(text) ?? text);

/** Where the credential of each site key may be filled. */
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

/**
 * Whether the credential of a site key may be filled on a page of this origin (`https://host[:port]`). Every layer
 * that names the key must agree; a key that no layer names may be filled only where it is the page's registrable
 * domain.
 */
export function decideCredential(layers: readonly CredentialLayer[], key: string, origin: string): CredentialVerdict {
  const url = httpsOrigin(origin);
  if (!url) return { allowed: false, layer: null, reason: 'credentials are filled on https origins only' };
  const covers = (target: string) =>
    target.includes('://') ? target === url.origin : registrableDomain(url.hostname) === target;
  const naming = layers
    .filter(({ credentials }) => Object.hasOwn(credentials, key))
    .sort((a, b) => POLICY_LAYERS.indexOf(b.layer) - POLICY_LAYERS.indexOf(a.layer));
  const against = naming.find(({ credentials }) => !credentials[key]?.some(covers));
  if (against)
    return {
      allowed: false,
      layer: against.layer,
      reason: `the ${against.layer} policy does not allow "${key}" on ${url.origin}`,
    };
  const [named] = naming;
  if (named)
    return { allowed: true, layer: named.layer, reason: `the ${named.layer} policy allows "${key}" on ${url.origin}` };
  if (registrableDomain(url.hostname) === key.toLowerCase())
    return { allowed: true, layer: null, reason: `"${key}" is the registrable domain of ${url.origin}` };
  return {
    allowed: false,
    layer: null,
    reason: `no policy says where "${key}" may be used: add it to "credentials" with an origin or a registrable domain`,
  };
}
