import type { IncomingMessage } from 'node:http';

/** Hop-by-hop fields end where a message is passed on: <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>. */
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
 * Headers that say where a body ends and whom a request is for. They are written from what node:http understood, whatever `Connection`
 * names: a proxy that drops a length on request passes on bytes that the next parser takes for another message.
 */
export const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'host']);

export type Message = Pick<IncomingMessage, 'headers' | 'rawHeaders'>;

/** The headers that `Connection` names: <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>. */
export function namedByConnection(raw: readonly string[]): Set<string> {
  const named = new Set<string>();
  for (let i = 0; i < raw.length; i += 2)
    if (raw[i]?.toLowerCase() === 'connection')
      for (const token of (raw[i + 1] ?? '').split(',')) named.add(token.trim().toLowerCase());
  return named;
}

/** The headers of a raw list without those whose names, in lower case, are dropped. */
export function fieldsWithout(raw: readonly string[], isDropped: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    if (!isDropped(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

/** The end-to-end headers of a raw list: without framing, `Proxy-*` and headers that `Connection` names. */
function endToEnd(raw: readonly string[]): string[] {
  const named = namedByConnection(raw);
  return fieldsWithout(
    raw,
    name => HOP_BY_HOP.has(name) || FRAMING.has(name) || named.has(name) || name.startsWith('proxy-'),
  );
}

/** The headers of an answer, as a raw list. A chunked body gets its coding from node:http, which reads and writes it again. */
export function answerFields({ headers, rawHeaders }: Message): string[] {
  const length = headers['content-length'];
  return [...endToEnd(rawHeaders), ...(length === undefined ? [] : ['Content-Length', length])];
}

/** The headers of a request that is passed on to `host`, as a raw list. */
export function requestFields({ headers, rawHeaders }: Message, host: string): string[] {
  const fields = ['Host', host, ...endToEnd(rawHeaders)];
  if (headers['transfer-encoding'] !== undefined) fields.push('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] !== undefined) fields.push('Content-Length', headers['content-length']);
  return fields;
}
