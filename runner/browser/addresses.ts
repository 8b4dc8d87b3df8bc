import type { Refusal } from '../../contract/tool-failure.ts';

const OPEN_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'data:', 'blob:']);

/**
 * Why an agent may not go there; undefined: it may. Files of the runner and the browser's own pages are closed to it.
 * Hosts are judged by the egress proxy, at connect time.
 */
export function refusedUrl(url: unknown): Refusal | undefined {
  // Playwright MCP puts https:// before what does not parse as a URL.
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  // `localhost:8080` parses as the scheme `localhost:`; Playwright reads it as a host.
  if (OPEN_SCHEMES.has(protocol) || href === 'about:blank' || protocol === 'localhost:') return undefined;
  return { code: 'address_closed', why: `${protocol} addresses are closed here.`, instead: 'Use http or https.' };
}

/** Schemes that no frame may show, whatever led it there. */
export const isClosedPage = (url: string): boolean =>
  /^(file|view-source|chrome|devtools|chrome-untrusted|ftp):/i.test(url);
