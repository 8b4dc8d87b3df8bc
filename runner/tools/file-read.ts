import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { FILE_TAINTED, fileNotFound } from '../acting/files-to-upload.ts';
import { isPdf, PDF_SIGN, readPdf } from '../files/pdf-text.ts';
import { readRange } from '../files/plain-file.ts';
import type { KeptFile } from '../files/session-files.ts';
import { textIn } from '../files/text.ts';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

/** Characters of a text that one answer has; some 3,000 tokens of English. */
const WINDOW_LENGTH = 12_000;
const PDF_BYTES_MAX = 32 * 1024 * 1024;
const PICTURE_BYTES_MAX = 4 * 1024 * 1024;
const PICTURES = /^image\/(?:png|jpeg|webp|gif)$/;

export const readFile = defineTool({
  name: 'browser_file_read',
  seconds: 30,
  effect: 'reads',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'compat', 'both'],
    title: 'Read a file',
    description: 'Read a file: text, PDF or picture',
    input: {
      name: z.string(),
      offset: z.int().min(0).default(0).describe('nextOffset of the answer before'),
    },
    output: { content: z.string().optional(), nextOffset: z.int().optional() },
    async run({ name, offset }, { lease: { files, conceal }, signal }) {
      const file = files.find(name);
      if (file === undefined) return fileNotFound([name], files);
      if (file.isTainted) return FILE_TAINTED;
      const about = { name, mimeType: file.mime_type, bytes: file.bytes };
      const part = (text: string) => successResult({ ...about, ...windowOf(text, offset) });
      if (isPdf(await readRange(file.path, 0, Math.min(file.bytes, PDF_SIGN.length)))) {
        if (file.bytes > PDF_BYTES_MAX) return notReadable(file);
        const { pages, pagesTotal } = await readPdf(await readRange(file.path, 0, file.bytes), signal);
        const text = pages.map((page, index) => `[page ${index + 1} of ${pagesTotal}]\n${page}`).join('\n');
        return part(await conceal(text));
      }
      if (file.isText) return part(await conceal((await readRange(file.path, 0, file.bytes)).toString('utf8')));
      if (!files.mayReadBytes(file)) return BYTES_CLOSED;
      if (PICTURES.test(file.mime_type) && file.bytes <= PICTURE_BYTES_MAX) {
        const data = (await readRange(file.path, 0, file.bytes)).toString('base64');
        return { content: [...successResult(about).content, { type: 'image', data, mimeType: file.mime_type }] };
      }
      return longText(file, about, offset);
    },
  }),
});

/** A part of a text, and where the next one begins. */
function windowOf(text: string, offset: number): { content: string; nextOffset?: number } {
  const content = text.slice(offset, offset + WINDOW_LENGTH);
  const nextOffset = offset + content.length;
  return nextOffset < text.length ? { content, nextOffset } : { content };
}

/** A part of what is too long to be read at once, where that is text: its offsets are bytes. */
async function longText(file: KeptFile, about: Record<string, unknown>, offset: number): Promise<CallToolResult> {
  const end = Math.min(offset + WINDOW_LENGTH, file.bytes);
  const bytes = await readRange(file.path, Math.min(offset, end), end);
  const content = textIn(bytes, { isCut: true });
  if (content === undefined) return notReadable(file);
  const nextOffset = offset + Buffer.byteLength(content);
  return successResult({ ...about, content, ...(nextOffset < file.bytes ? { nextOffset } : {}) });
}

const BYTES_CLOSED = refusalResult({
  code: 'file_closed',
  why: 'A credential was filled in: bytes that are no text could hold it.',
  instead: 'Text and PDF can be read; the person can fetch the file.',
});

const notReadable = ({ name, mime_type }: KeptFile): CallToolResult =>
  refusalResult({
    code: 'file_not_readable',
    why: `"${name}" (${mime_type}) is no text, PDF or short picture.`,
    instead: 'The person can fetch the file; browser_file_upload can send it to a page.',
  });
