// The text of a PDF, page by page, in a thread of its own: a document may be made to take all memory, or to never end.
import { parentPort, workerData } from 'node:worker_threads';
import { getDocumentProxy } from 'unpdf';
import type { PdfText, PdfWork } from './pdf-text.ts';

const { bytes, charactersMax }: PdfWork = workerData;
const document = await getDocumentProxy(bytes, { verbosity: 0 });
const pages: string[] = [];
for (let number = 1, left = charactersMax; number <= document.numPages && left > 0; number += 1) {
  const { items } = await (await document.getPage(number)).getTextContent();
  const text = items.map(item => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
  pages.push(text.slice(0, left));
  left -= text.length;
}
parentPort?.postMessage({ pages, pagesTotal: document.numPages } satisfies PdfText);
