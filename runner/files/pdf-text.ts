import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { runBounded } from './bounded-program.ts';

/** The text of a PDF. Fewer pages than `pagesTotal`: the rest is left out. */
const pdfText = z.object({ pages: z.array(z.string()), pagesTotal: z.int() });
export type PdfText = z.infer<typeof pdfText>;

const PROGRAM = fileURLToPath(new URL(`./pdf-text.program${extname(import.meta.url)}`, import.meta.url));
const MIB = 1024 * 1024;
/** Documents have at most 32 MiB. */
const MEMORY_BYTES_MAX = 256 * MIB;
const SECONDS_MAX = 20;
const OUTPUT_BYTES_MAX = 4 * MIB;

/** How a PDF begins: <https://www.iso.org/standard/75839.html>, 7.5.2. */
export const PDF_SIGN = '%PDF-';
export const isPdf = (head: Buffer): boolean => head.toString('latin1') === PDF_SIGN;

/** Reads a PDF in a program of its own. Rejects when it is none, is encrypted, takes too much memory or time, or when `signal` aborts. */
export async function readPdf(bytes: Buffer, signal: AbortSignal): Promise<PdfText> {
  const output = await runBounded(PROGRAM, bytes, {
    memoryBytesMax: MEMORY_BYTES_MAX,
    secondsMax: SECONDS_MAX,
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal,
  });
  return pdfText.parse(JSON.parse(output.toString('utf8')));
}
