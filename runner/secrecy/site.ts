import { getDomain } from 'tldts';

/** Scheme and registrable domain; undefined for an address that borrows its origin from another document. */
export function siteOf(url: string): string | undefined {
  const address = URL.parse(url.replace(/^blob:/, ''));
  if (address === null || !/^https?:$/.test(address.protocol)) return undefined;
  return `${address.protocol}//${getDomain(address.hostname, { allowPrivateDomains: true }) ?? address.hostname}`;
}
