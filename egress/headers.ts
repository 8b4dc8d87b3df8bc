import { answerFields, FRAMING, fieldsWithout, type Message, namedByConnection } from '../http/end-to-end.ts';

/** The headers of a site's answer, without its `x-omicron-*`. */
export const siteAnswerFields = (message: Message): string[] =>
  fieldsWithout(answerFields(message), name => name.startsWith('x-omicron-'));

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
