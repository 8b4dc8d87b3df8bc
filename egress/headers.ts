import { answerFields, FRAMING, type Message, namedByConnection } from '../http/end-to-end.ts';

/** The headers of a site's answer, without its `x-omicron-*`. */
export function siteAnswerFields(message: Message): string[] {
  const fields = answerFields(message);
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const [name = '', value = ''] = [fields[i], fields[i + 1]];
    if (!name.toLowerCase().startsWith('x-omicron-')) kept.push(name, value);
  }
  return kept;
}

/** Whether bytes of a body follow the head. */
export const hasBody = ({ headers }: Pick<Message, 'headers'>): boolean =>
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
