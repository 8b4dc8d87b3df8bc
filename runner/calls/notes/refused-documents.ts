import type { BrowserContext, Page } from 'playwright-core';
import { REFUSAL_HEADER } from '../../../contract/egress.ts';
import type { EgressForwarder, EgressRefusal } from '../../browser/egress-forwarder.ts';
import { tabOfDocument } from '../../browser/request-frame.ts';

/** Documents that the egress proxy refused: Chromium shows a refused tunnel as a failed connection, and a refused http page as the site's. */
export interface RefusedDocuments {
  /** The refusal of the document that the tab asked for last, since then; undefined: it came, or failed otherwise. */
  of(page: Page, sinceMs: number): EgressRefusal | undefined;
}

export function refusedDocuments(context: BrowserContext, refusals: EgressForwarder['refusals']): RefusedDocuments {
  /** Host and port of the document that did not come. */
  const missing = new WeakMap<Page, string>();
  context.on('response', response => {
    const page = tabOfDocument(response.request());
    if (page === undefined) return;
    if (response.headers()[REFUSAL_HEADER] === undefined) missing.delete(page);
    else missing.set(page, authorityOf(response.url()));
  });
  context.on('requestfailed', request => {
    const page = tabOfDocument(request);
    if (page !== undefined) missing.set(page, authorityOf(request.url()));
  });
  return {
    // Not the header alone: a site may send it on a connection that the proxy does not read.
    of: (page, sinceMs) =>
      refusals.findLast(({ atMs, authority }) => atMs >= sinceMs && withPort(authority) === missing.get(page)),
  };
}

function authorityOf(address: string): string {
  const url = URL.parse(address);
  return url === null ? '' : `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}

/** That of a plain request has none where it is 80. */
const withPort = (authority: string): string => (/:\d+$/.test(authority) ? authority : `${authority}:80`);
