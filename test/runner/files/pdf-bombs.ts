import { deflateSync } from 'node:zlib';

const MIB = 1024 * 1024;

/** A PDF of these objects, numbered from 1; the first is its catalogue. */
function pdf(objects: readonly (string | readonly [string, Buffer])[]): Buffer {
  const parts = objects.map((object, index) => {
    if (typeof object === 'string') return Buffer.from(`${index + 1} 0 obj${object}endobj\n`);
    const [dictionary, data] = object;
    const head = `${index + 1} 0 obj<<${dictionary}/Length ${data.length}>>stream\n`;
    return Buffer.concat([Buffer.from(head), data, Buffer.from('\nendstream endobj\n')]);
  });
  return Buffer.concat([Buffer.from('%PDF-1.4\n'), ...parts, Buffer.from('trailer<</Root 1 0 R>>\n')]);
}

const CATALOGUE = '<</Type/Catalog/Pages 2 0 R>>';
const PAGES = '<</Type/Pages/Kids[3 0 R]/Count 1>>';
const FONT = '/Resources<</Font<</F1 5 0 R>>/XObject<</X 4 0 R>>>>';
const page = (more = FONT) => `<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents 4 0 R${more}>>`;
const HELVETICA = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>';
const TRUE_TYPE =
  '<</Type/Font/Subtype/TrueType/BaseFont/X/FontDescriptor 6 0 R/FirstChar 32/LastChar 33/Widths[1 1]>>';
const DESCRIPTOR = '<</Type/FontDescriptor/FontName/X/Flags 4/FontFile2 7 0 R>>';

const inflating = (bytes: number, filling = ' ') => deflateSync(Buffer.alloc(bytes, filling), { level: 9 });
const flate = (data: Buffer): readonly [string, Buffer] => ['/Filter/FlateDecode', data];
const shows = (text: string) => Buffer.from(`BT /F1 18 Tf (${text}) Tj ET`);

/** Documents of at most a megabyte that take all memory, or never end, where nothing bounds their decoder. */
export const PDF_BOMBS: Readonly<Record<string, () => Buffer>> = {
  'a page that inflates to 512 MiB': () => pdf([CATALOGUE, PAGES, page(), flate(inflating(512 * MIB)), HELVETICA]),
  'a page that inflates twice': () => {
    const twice = deflateSync(inflating(512 * MIB), { level: 9 });
    return pdf([CATALOGUE, PAGES, page(), ['/Filter[/FlateDecode/FlateDecode]', twice], HELVETICA]);
  },
  'a font that inflates to 512 MiB': () =>
    pdf([CATALOGUE, PAGES, page(), ['', shows('a')], TRUE_TYPE, DESCRIPTOR, flate(inflating(512 * MIB, '\0'))]),
  'a text of 400 million characters': () => {
    const text = Buffer.concat([Buffer.from('BT /F1 1 Tf ('), Buffer.alloc(400 * MIB, 'a'), Buffer.from(') Tj ET')]);
    return pdf([CATALOGUE, PAGES, page(), flate(deflateSync(text, { level: 9 })), HELVETICA]);
  },
  'lists in lists': () => pdf([CATALOGUE, PAGES, page(), ['', Buffer.from('['.repeat(900_000))], HELVETICA]),
  'a form that shows itself': () =>
    pdf([
      CATALOGUE,
      PAGES,
      page(),
      [`/Type/XObject/Subtype/Form/BBox[0 0 1 1]${FONT}`, Buffer.from('/X Do '.repeat(50_000))],
      HELVETICA,
    ]),
  'pages that are their own children': () =>
    pdf([CATALOGUE, '<</Type/Pages/Kids[2 0 R 2 0 R 2 0 R]/Count 999999999>>', page(), ['', shows('a')], HELVETICA]),
  'a map of characters that names four billion': () => {
    const map = Buffer.from('1 begincodespacerange <00> <FFFFFFFF> endcodespacerange 100 beginbfrange ');
    const ranges = Buffer.from(`${'<00000000> <FFFFFFFF> <0041> '.repeat(100)}endbfrange`);
    const font = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>';
    return pdf([CATALOGUE, PAGES, page(), ['', shows('a')], font, ['', Buffer.concat([map, ranges])]]);
  },
  'rows of a billion columns': () => {
    const parameters =
      '/Filter/FlateDecode/DecodeParms<</Predictor 15/Colors 32/BitsPerComponent 16/Columns 999999999>>';
    return pdf([CATALOGUE, PAGES, page(), [parameters, inflating(64 * MIB)], HELVETICA]);
  },
  'runs in runs in runs': () => {
    const runs = (data: Buffer) => Buffer.concat([...data].flatMap(byte => [Buffer.from([129, byte])]));
    const filters = `/Filter[${'/RunLengthDecode'.repeat(6)}]`;
    return pdf([CATALOGUE, PAGES, page(), [filters, runs(runs(Buffer.from('(aaaa) Tj '.repeat(20_000))))], HELVETICA]);
  },
  'no PDF': () => Buffer.from(`%PDF-1.4\n${'1 0 obj<<'.repeat(100_000)}`),
};
