import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { parse } from 'tldts';
import * as z from 'zod';

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** The hostname of a URL, without the brackets around an IPv6 address. */
export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

/**
 * The one spelling of a host name: lower case, punycode, no trailing dot; a canonical IP address stays as it is. Null
 * when it is neither.
 */
export function canonicalHost(text: string): string | null {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text;
  if (isIP(bare) === 4) return bare;
  if (isIP(bare) === 6) return URL.parse(`http://[${bare}]`)?.hostname.slice(1, -1) ?? null; // no URL has a zone: `fe80::1%eth0`
  if (/[\s/\\@:?#%[\]*]/u.test(bare)) return null;
  const ascii = domainToASCII(bare);
  if (ascii === '' || ascii.length > 253 || isIP(ascii)) return null; // `127.1` becomes an address here: refused
  return ascii.split('.').every(label => LABEL.test(label)) ? ascii : null;
}

/** Why the text is not a host pattern, or null when it is one. */
function findFault(text: string): string | null {
  const wild = text.startsWith('*.');
  const name = canonicalHost(wild ? text.slice(2) : text);
  if (text.includes('*') && (!wild || text.indexOf('*', 1) !== -1))
    return 'a star may only stand for whole labels in front: write *.example.com';
  if (name === null) return 'must be a host name such as example.com or *.example.com, without scheme, port or path';
  if (isIP(name)) return wild ? 'an address takes no star' : null;
  if (name === 'localhost' && !wild) return null;
  const { publicSuffix, isIcann } = parse(name);
  if (publicSuffix === name && (isIcann || !name.includes('.')))
    return `would cover everything under the public suffix "${name}": name a registrable domain`;
  return null;
}

/**
 * `example.com` is that host alone, `*.example.com` every name below it but not itself. Parsed to lower case and
 * punycode. Patterns as wide as a public suffix (`*.com`, `*.co.uk`) are refused; private suffixes (`*.github.io`)
 * are not, since sites load from them.
 */
export const hostPattern = z
  .string()
  .min(1)
  .max(300)
  .superRefine((text, context) => {
    const message = findFault(text);
    if (message !== null) context.addIssue(message);
  })
  // not a transform: a document must also be writable as it was read
  .overwrite(text => {
    const wildcard = text.startsWith('*.');
    return `${wildcard ? '*.' : ''}${canonicalHost(wildcard ? text.slice(2) : text) ?? ''}`;
  });

/**
 * The most specific of the patterns that covers a canonical host, or undefined: the host itself before `*.` patterns,
 * a longer one of those before a shorter. Cost: one lookup per label.
 */
export function coveringPattern(patterns: ReadonlySet<string>, host: string): string | undefined {
  if (patterns.has(host)) return host;
  if (isIP(host)) return undefined;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const pattern = `*${host.slice(dot)}`;
    if (patterns.has(pattern)) return pattern;
  }
  return undefined;
}
