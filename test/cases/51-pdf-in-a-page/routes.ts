import { pdfOf } from '../../site/pdf.ts';
import type { Routes } from '../serve-cases.ts';

const PDF = pdfOf('Total 123.45 EUR');

const pdf: Routes[string] = (_request, response) =>
  response.writeHead(200, { 'content-type': 'application/pdf' }).end(PDF);

export default {
  ...{ 'november.pdf': pdf, 'december.pdf': pdf, 'terms.pdf': pdf },
  'about.html': (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>About us</p>'),
} satisfies Routes;
