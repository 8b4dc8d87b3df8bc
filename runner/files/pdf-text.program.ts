// The text of the PDF on standard input, page by page, as JSON. A program of its own: a document may be made to take all memory, or to never end.
import { buffer } from 'node:stream/consumers';
import { getDocumentProxy } from 'unpdf';
import type { PdfText } from './pdf-text.ts';

const CHARACTERS_MAX = 500_000;

const document = await getDocumentProxy(new Uint8Array(await buffer(process.stdin)), { verbosity: 0 });
const pages: string[] = [];
for (let number = 1, left = CHARACTERS_MAX; number <= document.numPages && left > 0; number += 1) {
  const { items } = await (await document.getPage(number)).getTextContent();
  const text = items.map(item => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
  pages.push(text.slice(0, left));
  left -= text.length;
}
process.stdout.write(JSON.stringify({ pages, pagesTotal: document.numPages } satisfies PdfText));
