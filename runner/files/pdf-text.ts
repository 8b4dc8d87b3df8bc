import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';

/** What the thread is given. */
export interface PdfWork {
  readonly bytes: Uint8Array;
  readonly charactersMax: number;
}

/** What a PDF says. Fewer pages than there are: the rest is left out. */
const pdfText = z.object({ pages: z.array(z.string()), pagesTotal: z.int() });
export type PdfText = z.infer<typeof pdfText>;

const WORKER = new URL(`./pdf-text.worker${extname(import.meta.url)}`, import.meta.url);
const CHARACTERS_MAX = 500_000;
/** Of the thread; its documents have at most 32 MiB. */
const HEAP_MB = 256;

/** How a PDF begins: <https://www.iso.org/standard/75839.html>, 7.5.2. */
export const PDF_SIGN = '%PDF-';
export const isPdf = (head: Buffer): boolean => head.toString('latin1') === PDF_SIGN;

/**
 * Reads a PDF in a thread that holds nothing else. Rejects when it is none, is encrypted, takes too much memory, or when `signal`
 * aborts: the thread ends then.
 */
export async function readPdf(bytes: Buffer, signal: AbortSignal): Promise<PdfText> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const worker = new Worker(WORKER, {
    workerData: { bytes: new Uint8Array(bytes), charactersMax: CHARACTERS_MAX } satisfies PdfWork,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
    execArgv: [],
    // What a document makes the parser say is for no log.
    stdout: true,
    stderr: true,
  });
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  worker.once('message', resolve).once('error', reject);
  worker.once('exit', code => reject(new Error(`the thread that reads the PDF ended with ${code}`)));
  try {
    return pdfText.parse(await promise);
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
