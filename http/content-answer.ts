import { byteRange } from './byte-range.ts';
import { NOSNIFF } from './never-sniff.ts';

/** Status, headers and bytes of an answer with a content, or with the part of it that `Range` asks for. */
export interface ContentAnswer {
  readonly status: 200 | 206 | 416;
  readonly headers: Readonly<Record<string, string>>;
  /** Both inclusive; undefined: no byte. */
  readonly range: { readonly start: number; readonly end: number } | undefined;
}

/** `range`: the header `Range` of the request. The content is of strangers: a browser is to save it, not to show it. */
export function contentAnswer(
  { bytes, mimeType, name }: { bytes: number; mimeType: string; name?: string },
  range: string | undefined,
): ContentAnswer {
  const headers = {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    ...NOSNIFF,
  };
  const asked = byteRange(range, bytes);
  if (asked === 'unsatisfiable')
    return {
      status: 416,
      headers: { ...headers, 'content-range': `bytes */${bytes}`, 'content-length': '0' },
      range: undefined,
    };
  const { start, end } = asked ?? { start: 0, end: bytes - 1 };
  return {
    status: asked === undefined ? 200 : 206,
    headers: {
      ...headers,
      'content-type': mimeType,
      'content-length': String(end - start + 1),
      ...(asked && { 'content-range': `bytes ${start}-${end}/${bytes}` }),
      ...(name === undefined ? {} : { 'content-disposition': attachmentHeader(name) }),
    },
    range: bytes === 0 ? undefined : { start, end },
  };
}

/** The header Content-Disposition of what is saved under this name: <https://www.rfc-editor.org/rfc/rfc6266#section-4.3>. */
export const attachmentHeader = (name: string): string => `attachment; filename*=UTF-8''${rfc5987(name)}`;

/** <https://www.rfc-editor.org/rfc/rfc8187#section-3.2> */
const rfc5987 = (text: string): string =>
  encodeURIComponent(text).replaceAll(/['()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
