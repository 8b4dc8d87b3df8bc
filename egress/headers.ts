import type { IncomingMessage } from 'node:http';

/** Hop-by-hop fields end at this proxy: <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect', // node:http has answered it
]);

/**
 * Where a body ends and whom a request is for. They are written from what node:http understood, whatever `Connection`
 * names: a proxy that drops a length on request passes on bytes that the next parser takes for another message.
 */
const FRAMING = new Set(['content-length', 'transfer-encoding', 'host']);

type Message = Pick<IncomingMessage, 'headers' | 'rawHeaders'>;

/** The headers that `Connection` names: <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>. */
function namedByConnection(raw: readonly string[]): Set<string> {
  const named = new Set<string>();
  for (let i = 0; i < raw.length; i += 2)
    if (raw[i]?.toLowerCase() === 'connection')
      for (const token of (raw[i + 1] ?? '').split(',')) named.add(token.trim().toLowerCase());
  return named;
}

/**
 * The end-to-end headers of a raw list: without framing, `Proxy-*`, headers that `Connection` names and a site's
 * `x-omicron-*`.
 */
function endToEnd(raw: readonly string[], from: 'client' | 'site'): string[] {
  const named = namedByConnection(raw);
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || FRAMING.has(lower) || named.has(lower) || lower.startsWith('proxy-')) continue;
    if (from === 'site' && lower.startsWith('x-omicron-')) continue;
    kept.push(name, value);
  }
  return kept;
}

/** The headers of a site's answer. A chunked body gets its coding from node:http, which reads and writes it anew. */
export function answerFields({ headers, rawHeaders }: Message): string[] {
  const length = headers['content-length'];
  return [...endToEnd(rawHeaders, 'site'), ...(length === undefined ? [] : ['Content-Length', length])];
}

/** Whether bytes of a body follow the head. */
export const hasBody = ({ headers }: Message): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/** Why two parsers could disagree on where the request ends; node:http has already rejected the worst cases. */
export function ambiguousFraming({ headers, rawHeaders }: Message): string | undefined {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (headers['content-length'] !== undefined || String(coding).toLowerCase() !== 'chunked'))
    return 'the length of the body is ambiguous';
  const named = namedByConnection(rawHeaders);
  return [...FRAMING].some(name => named.has(name))
    ? 'Connection may not name Content-Length, Transfer-Encoding or Host'
    : undefined;
}

/** The headers of the request to the site. Host is the URL's authority, whatever the client sent. */
export function requestFields({ headers, rawHeaders }: Message, host: string): string[] {
  const fields = ['Host', host, ...endToEnd(rawHeaders, 'client')];
  if (headers['transfer-encoding'] !== undefined) fields.push('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] !== undefined) fields.push('Content-Length', headers['content-length']);
  return fields;
}
