import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A site whose pages do with a value what no site should, each in its way, on loopback. */
export interface HostileSite {
  /** e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Values that arrived as the field `password`, by GET or POST. */
  readonly arrived: readonly string[];
  close(): Promise<void>;
}

/** Whatever the pages draw of a value is green, and nothing else is. */
const STYLE = `<style>
  * { color: #000 } input, textarea, #out, #out *, #edit, .value { color: #0f0; font: 24px DejaVu Sans }
  button { font: 16px DejaVu Sans } form { margin: 0 }
</style>`;

/** Controls that an agent, or a person, may use; none of them is of the login itself. */
const CONTROLS = `<div>
  <button id="toggle" onclick="p.type = p.type === 'password' ? 'text' : 'password'">Show</button>
  <button id="other" onclick="q.value = q.value ? '' : p.value">Show elsewhere</button>
  <button id="move" onclick="q.value = p.value; p.value = ''">Move</button>
  <button id="detach" onclick="held = p; p.remove()">Detach</button>
  <button id="attach" onclick="held && login.prepend(held)">Attach</button>
  <button id="undo" onclick="(p.isConnected ? p : q).focus(); document.execCommand('undo')">Undo</button>
  <button id="trim" onclick="p.value = p.value.slice(0, 5)">Trim</button>
  <button id="half" onclick="q.value = p.value.slice(0, Math.ceil(p.value.length / 2) + 1)">Most of it</button>
  <button id="redraw" onclick="const c = p.cloneNode(); c.value = p.value; p.replaceWith(c)">Redraw</button>
  <button id="log" onclick="console.error('value: ' + p.value); console.log([...p.value])">Log</button>
  <button id="keep" onclick="localStorage.kept = p.value; sessionStorage.kept = btoa(p.value); document.cookie = 'kept=' + encodeURIComponent(p.value)">Keep</button>
  <button id="address" onclick="history.pushState({ v: p.value }, '', '?v=' + encodeURIComponent(p.value))">Address</button>
  <button id="copy" onclick="navigator.clipboard.writeText(p.value)">Copy</button>
  <button id="popup" onclick="const w = window.open('/blank'); const v = p.value; w.onload = () => { w.document.title = v; w.value = v }">Popup</button>
  <button id="ask" onclick="alert(p.value)">Ask</button>
  <button id="fetch" onclick="fetch('/echo?v=' + encodeURIComponent(p.value))">Fetch</button>
</div>`;

const form = (method: string): string =>
  `<form id="login" method="${method}" action="/sent"><input id="p" name="password" type="password"><button id="send">Send</button></form>
  <input id="q"><textarea id="area"></textarea><div id="edit" contenteditable></div>${CONTROLS}<div id="out"></div>`;

const onInput = (script: string): string =>
  `<script>addEventListener('input', event => { const v = event.target.value ?? ''; ${script} })</script>`;

const PAGES: Record<string, string> = {
  plain: form('post'),
  get: form('get'),
  /** As React's controlled inputs do. */
  mirror: form('post') + onInput("event.target.setAttribute('value', v); out.dataset.value = v"),
  copy:
    form('post') +
    onInput(`out.innerHTML = ''; document.title = v;
      for (const text of [v, btoa(unescape(encodeURIComponent(v))), encodeURIComponent(v), [...v].reverse().join(''), [...v].join(' ')])
        out.append(Object.assign(document.createElement('p'), { textContent: text }));`),
  pieces:
    form('post') +
    onInput(
      "out.innerHTML = ''; for (const c of v) out.append(Object.assign(document.createElement('i'), { textContent: c }))",
    ),
  trim: form('post') + onInput('p.value = v.trim().slice(0, -1)'),
  redraw: `${form('post')}<script>setInterval(() => { const c = p.cloneNode(); c.value = p.value; p.replaceWith(c) }, 200)</script>`,
  shadow: `${form('post')}<x-copy></x-copy><script>const root = document.querySelector('x-copy').attachShadow({ mode: 'closed' });
    root.innerHTML = '<style>p, input { color: #0f0 }</style><p></p><input>';
    setInterval(() => { root.firstElementChild.nextElementSibling.textContent = root.lastElementChild.value = p.value }, 200)</script>`,
  /** In an open shadow root and in a frame, as text, in an address, and in a value. */
  nested: `${form('post')}<iframe srcdoc="<div></div>"></iframe><x-copy></x-copy><script>
    const root = document.querySelector('x-copy').attachShadow({ mode: 'open' });
    root.innerHTML = '<div></div>';
    addEventListener('input', ({ target: { value } }) => {
      for (const place of [root, frames[0].document]) {
        const a = Object.assign(document.createElement('a'), { href: '/?' + encodeURIComponent(value), textContent: value });
        const input = Object.assign(document.createElement('input'), { value, placeholder: value });
        input.setAttribute('value', value);
        place.querySelector('div').replaceChildren(a, input, ...[...value].map(c => Object.assign(document.createElement('i'), { textContent: c })));
      }
    })</script>`,
  options:
    form('post') +
    onInput("out.innerHTML = '<select id=list></select>'; for (const c of [v, ...v]) list.append(new Option(c))"),
  /** One letter an element, each of its own kind. */
  letters:
    form('post') +
    onInput(`out.innerHTML = '';
      const kinds = { button: c => ({ textContent: c }), li: c => ({ textContent: c }), h3: c => ({ textContent: c }), a: c => ({ textContent: c, href: '#' + c }),
        td: c => ({ textContent: c }), img: c => ({ alt: c, title: c }), label: c => ({ textContent: c }) };
      for (const [kind, of] of Object.entries(kinds)) {
        const list = document.createElement(kind === 'li' ? 'ul' : 'div');
        out.append(list);
        for (const c of v) list.append(Object.assign(document.createElement(kind), of(c)));
      }`),
  /** One letter each where no role and no text of an element has it, and all of it in a closed shadow root. */
  unseen:
    form('post') +
    onInput(`out.innerHTML = '';
      const box = set => { const each = document.createElement('i'); each.tabIndex = 0; each.style = 'display:block;width:9px;height:9px'; set(each); out.append(each); };
      for (const c of v) {
        box(each => { each.className = 'act-' + c; });
        box(each => { each.title = c; });
        box(each => { each.contentEditable = true; each.dataset.placeholder = c; });
        box(each => { each.setAttribute('role', 'slider'); each.setAttribute('aria-valuetext', c); each.setAttribute('aria-valuemax', c); });
      }
      const lines = document.createElement('pre');
      lines.textContent = [...v].join(String.fromCharCode(10));
      const host = document.createElement('div');
      out.append(lines, host);
      const root = host.attachShadow({ mode: 'closed' });
      root.innerHTML = '<button></button><pre></pre>';
      for (const each of root.children) each.textContent = v;
      out.append(Object.assign(document.createElement('textarea'), { value: 'a' + String.fromCharCode(10) + ' ' + v }));`),
  /** In the spellings of one program, as another one writes them. */
  encoded:
    form('post') +
    onInput(`out.innerHTML = '';
      const utf16 = [...v].flatMap(c => [c.charCodeAt(0) & 255, c.charCodeAt(0) >> 8]);
      const hex = bytes => bytes.map(b => b.toString(16).padStart(2, '0')).join('');
      const json = JSON.stringify({ user: 'x', password: v }).replace(/[^ -~]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
      const utf8 = [...new TextEncoder().encode(v)];
      for (const text of [btoa(encodeURIComponent(v)), btoa(json), btoa(btoa(json)), btoa(String.fromCharCode(...utf16)), hex(utf16), hex([...btoa(json)].map(c => c.charCodeAt(0))),
        utf8.map(b => b.toString(2).padStart(8, '0')).join(' '), JSON.stringify({ ...utf8 }), JSON.stringify({ ...v }), [...v].map((c, i) => i + ': ' + c).join('; ')])
        out.append(Object.assign(document.createElement('p'), { textContent: text }));
      out.append(...[...v].map(c => Object.assign(document.createElement('i'), { title: c })));`),
  /** A list, a radio button and names of elements for each letter, a drawn list and suggestions of them; they come with the value. */
  choices:
    form('post') +
    onInput(`out.innerHTML = '';
      [...v].forEach((c, i) => {
        const list = Object.assign(document.createElement('select'), { id: 'list' + i });
        list.append(new Option('-'), new Option('*', c));
        const radio = Object.assign(document.createElement('input'), { id: 'radio' + i, type: 'radio', name: 'letter', value: c });
        out.append(list, radio);
      });
      const options = [...v].map(c => '<div role=option>' + c + '</div>').join('');
      out.insertAdjacentHTML('beforeend', '<input id=box role=combobox aria-controls=drawn><div id=drawn role=listbox>' + options + '</div>');
      const list = Object.assign(document.createElement('datalist'), { id: 'suggestions' });
      list.append(...[...v].map(c => Object.assign(document.createElement('option'), { value: c })));
      out.append(list);
      out.insertAdjacentHTML('beforeend', '<input id=suggested list=suggestions>');
      out.className = [...v].map((c, i) => 'at' + i + '-' + c.charCodeAt(0)).join(' ');
      out.append(Object.assign(document.createElement('b'), { id: 'first-' + v.charCodeAt(0) }));
      out.append(document.createElement('x-' + v.charCodeAt(0)));`),
  /** A file of it, in a form of the page's making. */
  files:
    form('post') +
    `<button id="file" onclick="a.href = window.URL.createObjectURL(new Blob([[...p.value].map(c => c.charCodeAt(0) + 1)])); a.download = p.value.replace(/\\W/g, '') + '.txt'; a.click()">File</button><a id="a"></a>
    <button id="leave" onclick="file.click(); location.replace('/blank')">File and leave</button>`,
  /** The field holds it in a form of the page's making, which then is somewhere else. */
  rewritten:
    form('post') +
    `<button id="rewrite" onclick="p.value = [...p.value].map(c => String.fromCharCode(c.charCodeAt(0) + 1)).join('')">Rewrite</button>
    <button id="spread" onclick="q.value = out.textContent = document.title = p.value; out.setAttribute('title', p.value); p.value = ''">Spread</button>`,
  /** Sends it in a form of its own making. */
  telling: form('post') + onInput("fetch('/told?' + [...v].map(c => c.charCodeAt(0) + 1))"),
  blank: '<p>Nothing here.</p>',
  /** The value that the button #keep kept is gone. */
  forget: `<script>localStorage.clear(); sessionStorage.clear(); document.cookie = 'kept=; max-age=0'</script>`,
};

export const HOSTILE_PAGES: readonly string[] = Object.keys(PAGES).filter(
  name => name !== 'blank' && name !== 'forget',
);

/** Playwright MCP waits half a second in the page after each action: here that is 20 ms. */
const HURRY = `<script>{ const later = setTimeout; window.setTimeout = (run, ms, ...args) => later(run, ms / 25, ...args) }</script>`;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;').replaceAll("'", '&#39;');

export async function startHostileSite({ hurried = false } = {}): Promise<HostileSite> {
  const head = hurried ? HURRY + STYLE : STYLE;
  const arrived: string[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://site');
    const body = new URLSearchParams(Buffer.concat(await request.toArray().catch(() => [])).toString());
    const value = body.get('password') ?? url.searchParams.get('password') ?? url.searchParams.get('v') ?? '';
    if (url.pathname === '/sent') arrived.push(value);
    const html = (text: string) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>${head}${text}`);
    const name = url.pathname.slice(1);
    if (name === 'told') return response.end(`told ${url.search}`);
    if (name === 'sent' || name === 'echo')
      return html(`<title>Sent</title><p class="value" title="${escaped(value)}">${escaped(value)}</p>
        <script>value = ${JSON.stringify(value).replaceAll('<', '\\u003c')}</script><a id="on" href="/blank">On</a>`);
    html(Object.hasOwn(PAGES, name) ? `<title>${name}</title>${PAGES[name]}` : '<title>?</title>');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has one
  return {
    url: `http://127.0.0.1:${port}`,
    arrived,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
