/** Hop-by-hop fields end at this proxy: <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect', // node:http has answered it
]);

/**
 * The end-to-end headers of a raw list: without `Proxy-*`, headers that `Connection` names and a site's
 * `x-omicron-*`.
 */
export function endToEnd(raw: readonly string[], from: 'client' | 'site'): string[] {
  const named = new Set<string>();
  for (let i = 0; i < raw.length; i += 2)
    if (raw[i]?.toLowerCase() === 'connection')
      for (const token of (raw[i + 1] ?? '').split(',')) named.add(token.trim().toLowerCase());
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || named.has(lower) || lower.startsWith('proxy-')) continue;
    if (from === 'client' ? lower === 'host' : lower.startsWith('x-omicron-')) continue;
    kept.push(name, value);
  }
  return kept;
}

/**
 * The headers of the request to the site. Host is the URL's authority, whatever the client sent. Null when two
 * parsers could disagree on the body's length (node:http has already rejected the worst cases).
 */
export function requestFields(
  raw: readonly string[],
  headers: NodeJS.Dict<string | string[]>,
  host: string,
): string[] | null {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined && (length !== undefined || String(coding).toLowerCase() !== 'chunked')) return null;
  const fields = ['Host', host, ...endToEnd(raw, 'client')];
  if (coding !== undefined) fields.push('Transfer-Encoding', 'chunked');
  return fields;
}
