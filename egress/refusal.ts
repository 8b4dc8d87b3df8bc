import {
  type AddressClass,
  describeOwnMachineSettings,
  isSiteFailure,
  REFUSAL_HEADER,
  REFUSALS,
  type RefusalCode,
} from '../contract/egress.ts';
import type { PolicyLayer } from '../contract/policy/sites.ts';
import type { Destination } from './target.ts';

/** The proxy's own answer instead of the site's. */
export interface ProxyRefusal {
  readonly refused: RefusalCode;
  readonly addressClass?: AddressClass;
  readonly rule?: string | null;
  readonly layer?: PolicyLayer | null;
  /** Adds to the code's sentence; never holds a credential, a path or an address that the client did not send. */
  readonly detail?: string;
}

export const isRefusal = (value: object): value is ProxyRefusal => 'refused' in value;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, char => ESCAPES[char] ?? char);

/** A page for people and agents. */
export function refusalPage({ refused, detail }: ProxyRefusal, target: Destination | null): string {
  const where = target ? `<p>Host: <code>${escapeHtml(target.host)}</code>, port ${target.port}.</p>` : '';
  const why = detail ? `<p>Why: ${escapeHtml(detail)}.</p>` : '';
  const remedy = target && describeOwnMachineSettings(refused, target.host, target.port);
  const heading = isSiteFailure(refused)
    ? 'The site could not be reached'
    : 'The egress proxy did not let this through';
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not reached: ${refused}</title>` +
    `<h1>${heading}</h1><p>${escapeHtml(REFUSALS[refused].sentence)}</p>` +
    `${where}${why}${remedy ? `<p>${escapeHtml(remedy)}</p>` : ''}<p>Code: <code>${refused}</code></p></html>\n`
  );
}

/** Flat name-value list, as node:http writes it. */
export function refusalHeaders({ refused }: ProxyRefusal, page: string): string[] {
  const { status } = REFUSALS[refused];
  const headers = [
    ...[REFUSAL_HEADER, refused],
    ...['Content-Type', 'text/html; charset=utf-8'],
    ...['Content-Length', String(Buffer.byteLength(page))],
    ...['Content-Security-Policy', "default-src 'none'"],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Cache-Control', 'no-store'],
    ...['Connection', 'close'],
  ];
  if (status === 407) headers.push('Proxy-Authenticate', 'Basic realm="omicron-egress"');
  if (status === 429 || status === 503) headers.push('Retry-After', '2');
  return headers;
}

/** The whole answer as bytes, for sockets that node:http has detached (CONNECT, upgrade, parse errors). */
export function refusalBytes(refusal: ProxyRefusal, target: Destination | null, reasonPhrase: string): string {
  const page = refusalPage(refusal, target);
  const flat = refusalHeaders(refusal, page);
  let head = `HTTP/1.1 ${REFUSALS[refusal.refused].status} ${reasonPhrase}\r\n`;
  for (let i = 0; i < flat.length; i += 2) head += `${flat[i]}: ${flat[i + 1]}\r\n`;
  return `${head}\r\n${page}`;
}
