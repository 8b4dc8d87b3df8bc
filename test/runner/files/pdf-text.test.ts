import { expect, test } from 'vitest';
import { processTreeOfProc } from '../../../process/process-tree.ts';
import { readPdf } from '../../../runner/files/pdf-text.ts';
import { pdfOf } from '../../site/pdf.ts';
import { PDF_BOMBS } from './pdf-bombs.ts';

const MIB = 1024 * 1024;
const LOOK_MS = 25;

/** The most memory that a program which this process started took during the work. */
async function peakDuring(work: Promise<unknown>): Promise<number> {
  let peak = 0;
  const look = setInterval(() => {
    for (const { pid, bytes } of processTreeOfProc(process.pid) ?? [])
      if (pid !== process.pid) peak = Math.max(peak, bytes);
  }, LOOK_MS);
  await work.catch(() => undefined).finally(() => clearInterval(look));
  return peak;
}

test.each(Object.entries(PDF_BOMBS))(
  'a document is read in bounded memory and time: %s',
  async (_name, bomb) => {
    const bytes = bomb();
    expect(bytes.length).toBeLessThan(1.1 * MIB);
    const read = readPdf(bytes, AbortSignal.timeout(40_000));
    expect(await peakDuring(read)).toBeLessThan(320 * MIB);
    await read.catch((error: unknown) => expect(String(error)).toMatch(/The file could not be read/));
  },
  60_000,
);

test('a cancelled document is not read on', async () => {
  const cancelled = new AbortController();
  const read = readPdf(PDF_BOMBS['no PDF']?.() ?? Buffer.of(), cancelled.signal);
  cancelled.abort(new Error('cancelled'));
  await expect(read).rejects.toThrow('cancelled');
});

test('a document that is none of these is read', async () => {
  const { pages, pagesTotal } = await readPdf(pdfOf('Invoice 4711', 'Total 12.50'), AbortSignal.timeout(30_000));
  expect([pages.join().split(/\s+/), pagesTotal]).toEqual([['Invoice', '4711', 'Total', '12.50'], 1]);
});
