/** A PDF of one page with these lines, without compression: what it says can be searched for in its bytes. */
export function pdfOf(...lines: readonly string[]): Buffer {
  const text = lines.map((line, index) => `1 0 0 1 40 ${150 - 24 * index} Tm (${line}) Tj`).join(' ');
  const content = `BT /F1 18 Tf ${text} ET`;
  return Buffer.from(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length ${content.length}>>stream
${content}
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
`);
}
