import { registrableDomain } from '../../contract/policy/credential-target.ts';

/** Scheme and registrable domain; undefined for an address that borrows its origin from another document. */
export function siteOf(url: string): string | undefined {
  const address = URL.parse(url.replace(/^blob:/, ''));
  if (address === null || !/^https?:$/.test(address.protocol)) return undefined;
  return `${address.protocol}//${domainOf(address.hostname)}`;
}

/** The registrable domain of a host, else the host. */
export const domainOf = (host: string): string => registrableDomain(host) ?? host;
