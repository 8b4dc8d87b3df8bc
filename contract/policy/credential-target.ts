import { getDomain } from 'tldts';
import * as z from 'zod';
import { canonicalHost } from './hosts.ts';

/** Private suffixes count: `alice.github.io` and `bob.github.io` are two sites. */
export const registrableDomain = (host: string): string | null => getDomain(host, { allowPrivateDomains: true });

function httpsUrl(text: string): URL | null {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url : null;
}

/** An origin as a browser writes it, https only; null for anything else, userinfo and paths included. */
export function httpsOrigin(text: string): URL | null {
  const url = httpsUrl(text);
  return url !== null && text.toLowerCase() === url.origin ? url : null;
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

/** The target that an address stands for: the origin of an https URL; a registrable domain; another host's origin. */
function targetOf(text: string): string | null {
  if (text.includes('://')) return httpsUrl(text)?.origin ?? null;
  const host = canonicalHost(text);
  if (host === null || registrableDomain(host) === null) return null;
  return registrableDomain(host) === host ? host : `https://${host}`;
}

/** A target as people keep it beside a password: the path of a URL is dropped, `www.example.com` is that host alone. */
export const credentialUrl = z
  .string()
  .max(2048)
  .refine(text => targetOf(text) !== null, {
    message: 'must be an https address such as https://accounts.example.com/login or a domain such as example.com',
  })
  .overwrite(text => targetOf(text) ?? text);

/** Whether a target covers the page of an https origin. */
export const coversPage = (target: string, url: URL): boolean =>
  target.includes('://') ? target === url.origin : registrableDomain(url.hostname) === target;
