import type { ServerResponse } from 'node:http';
import { createGzip, gzipSync } from 'node:zlib';
import type { Routes } from '../serve-cases.ts';

const PAGE = `<title>Report</title><h1>Report</h1>${Array.from({ length: 4_000 }, (_, row) => `<p>Row ${row} ${Math.sin(row)}</p>`).join('')}`;

const begin = (response: ServerResponse, more: Readonly<Record<string, string>> = {}) =>
  response.writeHead(200, { 'content-type': 'text/html', ...more });
const breakOff = (response: ServerResponse) => setTimeout(() => response.destroy(), 50);

export default {
  'index.html': (_request, response) => begin(response).end('<title>List</title><a href="short">Short</a>'),
  /** Less than was announced. */
  short: (_request, response) => {
    begin(response, { 'content-length': '5000' }).write('<title>Half</title><h1>Half a page</h1>');
    breakOff(response);
  },
  /** Packed, and broken on its way. */
  gzip: (_request, response) => {
    const packed = gzipSync(PAGE);
    packed.fill(0x5a, Math.floor(packed.length / 2));
    begin(response, { 'content-encoding': 'gzip' }).end(packed);
  },
  chunk: (_request, response) => {
    begin(response).write('<title>Half</title><h1>Half a chunk</h1>');
    breakOff(response);
  },
  /** Its body breaks off before it has come. */
  cut: (_request, response) => {
    begin(response).flushHeaders();
    breakOff(response);
  },
  /** Packed without end. */
  endless: (_request, response) => {
    const packed = createGzip();
    packed.pipe(begin(response, { 'content-encoding': 'gzip' }));
    packed.write('<title>Half</title><h1>Half packed</h1>');
    packed.flush();
  },
  /** Its body never comes. */
  empty: (_request, response) => begin(response).flushHeaders(),
} satisfies Routes;
