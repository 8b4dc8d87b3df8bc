import type { Refusal } from '../../contract/tool-failure.ts';

const OPEN_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'data:', 'blob:']);

/** A host and a port, which would parse as a scheme and its path. */
const HOST_AND_PORT = /^(?:[\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\]):(\d{1,5})(?=$|[/?#])/i;
/** Schemes whose path may be a number. */
const NUMBER_SCHEME = /^(?:tel|sms|callto|fax|javascript|data|about):/i;
const TLS_PORTS: ReadonlySet<string> = new Set(['443', '8443']);
/** Hosts that speak http where no scheme is named: of this machine, and those without a name. */
const PLAIN_HOST = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])(?=$|[/?#])/i;

/**
 * The address that a text means, as models and people write it: without a scheme, with a port, in quotation marks, or as a path of the page
 * that is shown (`base`). Undefined: it is no address.
 */
export function addressOf(text: string, base?: string): string | undefined {
  const written = text
    .trim()
    .replace(/^(["'`<])(.*)["'`>]$/s, '$2')
    .trim();
  if (/^(?:\/(?!\/)|\?|#|\.{1,2}\/)/.test(written))
    return base !== undefined && /^https?:/.test(base) ? URL.parse(written, base)?.href : undefined;
  const port = NUMBER_SCHEME.test(written) ? undefined : HOST_AND_PORT.exec(written)?.[1];
  if (port !== undefined) return parsed(`${TLS_PORTS.has(port) ? 'https' : 'http'}://${written}`);
  const schemed = written.replace(/^\/\/(?=[^/])/, 'https://').replace(/^(https?)\/\//i, '$1://');
  if (URL.canParse(schemed)) return schemed;
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(schemed)) return undefined;
  return parsed(`${PLAIN_HOST.test(schemed) ? 'http' : 'https'}://${schemed}`);
}

const parsed = (url: string): string | undefined => (URL.canParse(url) ? url : undefined);

/**
 * Why an agent may not go to the address that a text means; undefined: it may. Files of the runner and the browser's own pages are closed to
 * it. Hosts are judged by the egress proxy, at connect time.
 */
export function refusedUrl(text: string, base?: string): Refusal | undefined {
  const url = addressOf(text, base);
  if (url === undefined)
    return {
      code: 'invalid_arguments',
      why: `${JSON.stringify(text.slice(0, ADDRESS_SHOWN_MAX))} is no address.`,
      instead: 'Give one such as https://example.com/path.',
    };
  const { protocol, href } = new URL(url);
  if (OPEN_SCHEMES.has(protocol) || href === 'about:blank') return undefined;
  if (isOutside(url))
    return {
      code: 'address_closed',
      why: `${protocol} addresses lead to a program outside of the browser.`,
      instead: 'The person can open it; here, use http or https.',
    };
  return { code: 'address_closed', why: `${protocol} addresses are closed here.`, instead: 'Use http or https.' };
}

const ADDRESS_SHOWN_MAX = 200;

/** Schemes that a browser shows or runs itself; any other is one of a program outside of it. */
const OWN_SCHEME =
  /^(?:https?|wss?|ftp|file|data|blob|about|javascript|filesystem|view-source|chrome|chrome-error|chrome-untrusted|chrome-extension|devtools|edge):/i;

/** Whether an address leads to a program outside of the browser: `mailto:`, `tel:`, the scheme of an app. */
export const isOutside = (url: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(url) && !OWN_SCHEME.test(url);

/** Schemes that no frame may show, whatever led it there. */
export const isClosedPage = (url: string): boolean =>
  /^(file|view-source|chrome|devtools|chrome-untrusted|ftp):/i.test(url);
