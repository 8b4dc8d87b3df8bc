import type { Routes } from '../serve-cases.ts';

const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 144]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 46>>stream
BT /F1 18 Tf 20 100 Td (Total 123.45 EUR) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>`;

const pdf: Routes[string] = (_request, response) =>
  response.writeHead(200, { 'content-type': 'application/pdf' }).end(PDF);

export default {
  ...{ 'november.pdf': pdf, 'december.pdf': pdf, 'terms.pdf': pdf },
  'about.html': (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>About us</p>'),
} satisfies Routes;
