/** How frameworks write a text down. Each is checked against its own documentation; the Go and Python ones were run. */
export type Escaper = (text: string) => string;

const hex4 = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, '0');
const units = (text: string, which: RegExp, write: (unit: string) => string): string => text.replace(which, write);
const map =
  (table: Readonly<Record<string, string>>): Escaper =>
  text =>
    [...text].map(each => table[each] ?? each).join('');

const jsonAscii: Escaper = text => units(JSON.stringify(text), /[^\x20-\x7e]/g, unit => `\\u${hex4(unit)}`);
const percent =
  (kept: RegExp, space: string): Escaper =>
  text =>
    [...text]
      .map(each =>
        each === ' ' && space !== ''
          ? space
          : kept.test(each)
            ? each
            : [...Buffer.from(each)].map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
      )
      .join('');

export const ESCAPERS: Readonly<Record<string, Escaper>> = {
  'Go encoding/json': text => units(JSON.stringify(text), /[<>&\u2028\u2029]/g, unit => `\\u${hex4(unit)}`),
  'Go html/template': map({ '<': '&lt;', '>': '&gt;', '&': '&amp;', "'": '&#39;', '"': '&#34;', '+': '&#43;' }),
  'Go url.QueryEscape': percent(/[\w.~-]/, '+'),
  'Python json.dumps': jsonAscii,
  'Python unicode_escape of each': text =>
    [...text].map(each => `\\U${(each.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`).join(''),
  'Python html.escape': map({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;' }),
  'Python quote': percent(/[\w.~/-]/, ''),
  'Python quote_plus': percent(/[\w.~-]/, '+'),
  'PHP htmlspecialchars': map({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#039;' }),
  'PHP json_encode': text => jsonAscii(text).replaceAll('/', '\\/'),
  'PHP json_encode with JSON_HEX': text =>
    `"${units(jsonAscii(text).slice(1, -1).replaceAll('\\"', '"'), /["&'<>]/g, unit => `\\u${hex4(unit).toUpperCase()}`)}"`,
  'PHP urlencode': percent(/[\w.-]/, '+'),
  'Rails html_escape': map({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }),
  'Rails to_json': text => units(JSON.stringify(text), /[<>&\u2028\u2029]/g, unit => `\\u${hex4(unit)}`),
  'Rails CGI.escape': percent(/[\w.~*-]/, '+'),
  'JSON.stringify': text => JSON.stringify(text),
  encodeURIComponent,
  'percent in lower case': text => encodeURIComponent(text).replace(/%../g, found => found.toLowerCase()),
  URLSearchParams: text => new URLSearchParams({ v: text }).toString(),
  'query of an address': text => setOn(address => (address.search = text)),
  'fragment of an address': text => setOn(address => (address.hash = text)),
  'path of an address': text => setOn(address => (address.pathname = text)),
  escape: text =>
    units(text, /[^\w@*+./-]/g, unit =>
      unit < '\u0100' ? `%${hex4(unit).slice(2).toUpperCase()}` : `%u${hex4(unit).toUpperCase()}`,
    ),
  'numeric entities': text => [...text].map(each => `&#x${(each.codePointAt(0) ?? 0).toString(16)};`).join(''),
  'CSS.escape': text => units(text, /[^\w-]/g, unit => `\\${unit.charCodeAt(0).toString(16)} `),
  NFD: text => text.normalize('NFD'),
  'upper case': text => text.toUpperCase(),
  'a tag around each': text => [...text].map(each => `<i>${each}</i>`).join(''),
  'unseen characters': text => [...text].join('\u200b'),
  'lines of a snapshot': text => [...text].map((each, at) => `  - generic [ref=e${at}]: ${each}`).join('\n'),
};

function setOn(set: (address: URL) => void): string {
  const address = new URL('https://site.test/');
  set(address);
  return address.href;
}

/** They hide all of a text, and are undone as a whole. */
export const ENCODERS: Readonly<Record<string, Escaper>> = {
  base64: text => Buffer.from(text).toString('base64'),
  base64url: text => Buffer.from(text).toString('base64url'),
  hex: text => Buffer.from(text).toString('hex'),
  backwards: text => [...text].reverse().join(''),
  'codes of characters': text => JSON.stringify([...text].map(each => each.codePointAt(0))),
  'codes by their places': text => JSON.stringify({ ...[...text].map(each => each.codePointAt(0)) }),
  'base64 of an address': text => Buffer.from(encodeURIComponent(text)).toString('base64'),
  'base64 of JSON': text => Buffer.from(JSON.stringify({ user: 'x', password: text })).toString('base64'),
  'base64 of base64': text => Buffer.from(Buffer.from(text).toString('base64')).toString('base64'),
  'base64 of UTF-16': text => Buffer.from(text, 'utf16le').toString('base64'),
  'hex of UTF-16': text => Buffer.from(text, 'utf16le').toString('hex'),
  'hex of entities': text =>
    Buffer.from(text.replace(/[^a-z0-9]/gi, each => `&#${each.codePointAt(0)};`)).toString('hex'),
  'binary digits': text => [...Buffer.from(text)].map(byte => byte.toString(2).padStart(8, '0')).join(' '),
};

/** They give each letter a place of its own, and leave the places. */
export const LISTS: Readonly<Record<string, (letters: readonly string[]) => string>> = {
  'buttons of a snapshot': all => all.map((each, at) => `- button ${JSON.stringify(each)} [ref=e${at}]`).join('\n'),
  'links of a snapshot': all =>
    all.map((each, at) => `- link ${JSON.stringify(each)} [ref=e${at}] /x#${at}`).join('\n'),
  'buttons in JSON': all =>
    JSON.stringify({ buttons: all.map((text, at) => ({ text, selector: `#k > :nth-child(${at})` })) }),
  'ends of addresses': all =>
    JSON.stringify(all.map(each => ({ text: 'x', href: `http://site.test/a/${encodeURIComponent(each)}` }))),
  'characters by their places': all => JSON.stringify({ ...all }),
  'titles in HTML': all =>
    all.map(each => `<i title="${each.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></i>`).join('\n'),
  'a numbered table': all => all.map((each, at) => `  - row: ${at + 1} | ${each}`).join('\n'),
  'the text of a numbered table': all => all.map((each, at) => `${at + 1}\t${each}`).join('\n'),
  'a numbered list': all => all.map((each, at) => `${at + 1}. ${each}`).join('\n'),
};
