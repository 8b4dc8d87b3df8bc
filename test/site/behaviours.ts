import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** An agent's act on a page, and the page's content some time after. */
export interface Behaviour {
  readonly body: string;
  /** Left out: it navigates there. */
  readonly tool?: readonly [name: string, args: Record<string, unknown>];
  readonly shows: RegExp;
}

const click = (target: string) => ['browser_click', { target, element: 'it' }] as const;
const GO = click('#go');
/** A button whose click runs a script. */
const onClick = (script: string, more = ''): string =>
  `<button id=go>Go</button><p id=out>before</p>${more}<script>const out = document.getElementById('out'); go.onclick = async () => { ${script} }</script>`;
const FETCH = (ms: number) => `await (await fetch('/data?ms=${ms}')).text()`;

/** Pages that answer an action in the ways in which pages do; `ms` is how long the server takes. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'a link': { body: '<a id=go href="/target">x</a>', tool: GO, shows: /TARGET/ },
  'a link to a slow server': { body: '<a id=go href="/target?ms=400">x</a>', tool: GO, shows: /TARGET/ },
  'a link to a place on the page': {
    body: '<a id=go href="#there">x</a><p id=out>before</p><script>onhashchange = () => { out.textContent = "AFTER" }</script>',
    tool: GO,
    shows: /AFTER/,
  },
  'a form that is posted': {
    body: '<form method=post action="/target?ms=200"><input name=q><button id=go>Send</button></form>',
    tool: GO,
    shows: /TARGET/,
  },
  'a form that Enter sends': {
    body: '<form action="/target"><input id=go name=ms value=200></form>',
    tool: ['browser_type', { target: '#go', text: '150', submit: true, element: 'it' }],
    shows: /TARGET/,
  },
  'a route of a single-page application': {
    body: onClick(`history.pushState(0, '', '/route'); out.textContent = 'Loading'; out.textContent = ${FETCH(200)}`),
    tool: GO,
    shows: /AFTER/,
  },
  'history.back() of such a route': {
    body: `<script>history.pushState(0, '', '?there'); onpopstate = async () => { out.textContent = ${FETCH(150)} }</script>${onClick('history.back()')}`,
    tool: GO,
    shows: /AFTER/,
  },
  'a slow fetch': { body: onClick(`out.textContent = ${FETCH(900)}`), tool: GO, shows: /AFTER/ },
  'a fetch after a fetch': {
    body: onClick(`${FETCH(100)}; const text = ${FETCH(150)}; setTimeout(() => { out.textContent = text }, 30)`),
    tool: GO,
    shows: /AFTER/,
  },
  'a change at once': { body: onClick("out.textContent = 'AFTER'"), tool: GO, shows: /AFTER/ },
  'a change after 100 ms': {
    body: onClick("setTimeout(() => { out.textContent = 'AFTER' }, 100)"),
    tool: GO,
    shows: /AFTER/,
  },
  'a change after 300 ms': {
    body: onClick("setTimeout(() => { out.textContent = 'AFTER' }, 300)"),
    tool: GO,
    shows: /AFTER/,
  },
  'a spinner, then content': {
    body: onClick("out.textContent = 'Loading...'; setTimeout(() => { out.textContent = 'AFTER' }, 300)"),
    tool: GO,
    shows: /AFTER/,
  },
  'a busy region, then content': {
    body: onClick(
      "out.ariaBusy = 'true'; out.textContent = ''; setTimeout(() => { out.ariaBusy = 'false'; out.textContent = 'AFTER' }, 320)",
    ),
    tool: GO,
    shows: /AFTER/,
  },
  'a click without an effect': { body: onClick(''), tool: GO, shows: /before|changes since/ },
  'a debounced search': {
    body: `<input id=go><p id=out>before</p><script>let timer; go.oninput = () => { clearTimeout(timer); timer = setTimeout(async () => { out.textContent = ${FETCH(100)} }, 250) }</script>`,
    tool: ['browser_type', { target: '#go', text: 'abc', element: 'it' }],
    shows: /AFTER/,
  },
  'a list that a choice fills': {
    body: `<select id=go><option>a<option>b</select><p id=out>before</p><script>go.onchange = async () => { out.textContent = ${FETCH(200)} }</script>`,
    tool: ['browser_select_option', { target: '#go', values: ['b'], element: 'it' }],
    shows: /AFTER/,
  },
  'a key': {
    body: `<p id=out>before</p><script>onkeydown = async () => { out.textContent = ${FETCH(150)} }</script>`,
    tool: ['browser_press_key', { key: 'j' }],
    shows: /AFTER/,
  },
  'a page that polls without end': {
    body: `<p id=n>0</p>${onClick("setTimeout(() => { out.textContent = 'AFTER' }, 100)")}<script>let i = 0; setInterval(async () => { await fetch('/poll?ms=20'); n.textContent = ++i }, 200)</script>`,
    tool: GO,
    shows: /AFTER/,
  },
  'a request that hangs': { body: onClick("out.textContent = 'AFTER'; fetch('/hang')"), tool: GO, shows: /AFTER/ },
  'an answer over a WebSocket': {
    body: onClick(
      "socket.send('x')",
      "<script>const socket = new WebSocket('ws://' + location.host + '/socket'); socket.onmessage = ({ data }) => { out.textContent = data }</script>",
    ),
    tool: GO,
    shows: /AFTER/,
  },
  'an endless animation': {
    body: `<style>@keyframes k { to { margin-left: 300px } } #m { animation: k 1s infinite }</style><p id=m>x</p>${onClick("setTimeout(() => { out.textContent = 'AFTER' }, 100)")}<script>let i = 0; (function frame() { m.style.color = 'rgb(' + i % 255 + ', 0, 0)'; m.dataset.i = i++; requestAnimationFrame(frame) })()</script>`,
    tool: GO,
    shows: /AFTER/,
  },
  redirects: { body: '<a id=go href="/redirect?ms=100">x</a>', tool: GO, shows: /TARGET/ },
  'a script that goes elsewhere': {
    body: onClick("setTimeout(() => { location.href = '/target?ms=100' }, 150)"),
    tool: GO,
    shows: /TARGET/,
  },
  'a popup': { body: '<a id=go target=_blank href="/target?ms=100">x</a>', tool: GO, shows: /\[Target\]|TARGET/ },
  'a dialog': { body: onClick("out.textContent = 'AFTER'; alert('hello')"), tool: GO, shows: /dialog.*hello/i },
  'a download': { body: '<a id=go href="/file?ms=100">x</a>', tool: GO, shows: /download/i },
  'a frame that goes elsewhere': {
    body: '<button id=go onclick="f.src = \'/target?ms=150\'">Go</button><iframe id=f src="/inner"></iframe>',
    tool: GO,
    shows: /TARGET/,
  },
  'a fetch in a frame': {
    body: `<iframe src="/inner"></iframe>`,
    tool: click('iframe >> internal:control=enter-frame >> #inner'),
    shows: /AFTER/,
  },
  'a change in a frame': {
    body: `<iframe id=f src="/inner"></iframe>${onClick("setTimeout(() => { f.contentDocument.body.append('AFTER') }, 150)")}`,
    tool: GO,
    shows: /AFTER/,
  },
  'a change in an open shadow root': {
    body: `<div id=host></div><script>const root = host.attachShadow({ mode: 'open' }); root.innerHTML = '<button id=go>Go</button><p>before</p>'; root.getElementById('go').onclick = () => setTimeout(() => { root.querySelector('p').textContent = 'AFTER' }, 200)</script>`,
    tool: GO,
    shows: /AFTER/,
  },
  'images that load as they are scrolled to': {
    body: '<button id=go onclick="last.scrollIntoView()">Go</button><p style="height:9000px"></p><img id=last loading=lazy src="/image?ms=100" onload="out.textContent = \'AFTER\'"><p id=out>before</p>',
    tool: GO,
    shows: /AFTER/,
  },
  'an error page': { body: '<a id=go href="/missing?ms=100">x</a>', tool: GO, shows: /NOT THERE/ },
  'a server that closes the connection': {
    body: '<a id=go href="/reset">x</a><p>before</p>',
    tool: GO,
    shows: /before|ERR_|chrome-error/,
  },
  'a page that loads its content': {
    body: `<p id=out></p><script>fetch('/data?ms=300').then(answer => answer.text()).then(text => { out.textContent = text })</script>`,
    shows: /AFTER/,
  },
  'a page with a hanging script': { body: '<p>AFTER</p><script async src="/hang"></script>', shows: /AFTER/ },
};

const ANSWERS: Readonly<Record<string, (response: ServerResponse, url: URL) => void>> = {
  '/data': response => response.end('AFTER'),
  '/poll': response => response.end('1'),
  '/hang': () => undefined,
  '/reset': response => response.destroy(),
  '/target': response => html(response, 200, '<title>Target</title><h1>TARGET</h1>'),
  '/missing': response => html(response, 404, '<h1>NOT THERE</h1>'),
  '/inner': response =>
    html(
      response,
      200,
      `<button id=inner onclick="fetch('/data?ms=200').then(answer => answer.text()).then(text => document.body.append(text))">In</button>`,
    ),
  '/redirect': response => response.writeHead(302, { location: '/redirected?ms=100' }).end(),
  '/redirected': response => response.writeHead(302, { location: '/target?ms=100' }).end(),
  '/file': response => response.writeHead(200, { 'content-disposition': 'attachment; filename=x.txt' }).end('hi'),
  '/image': response =>
    response
      .writeHead(200, { 'content-type': 'image/svg+xml' })
      .end('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'),
};

function html(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>${text}`);
}

export interface BehaviourSite {
  /** The page of a behaviour, by its name. */
  url(name: string): string;
  close(): void;
}

export async function startBehaviourSite(): Promise<BehaviourSite> {
  const server = createServer((request, response) => void answer(request, response));
  server.on('upgrade', (request, socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.on('error', () => undefined);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    // A text frame is answered by another; anything else closes.
    socket.on('data', ([first = 0]: Buffer) => {
      if ((first & 0xf) === 1) setTimeout(() => socket.write(Buffer.from([0x81, 5, ...Buffer.from('AFTER')])), 150);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  return {
    url: name => `http://127.0.0.1:${port}/${encodeURIComponent(name)}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://site');
  await delay(Number(url.searchParams.get('ms') ?? 0));
  const behaviour = BEHAVIOURS[decodeURIComponent(url.pathname.slice(1))];
  if (behaviour !== undefined) return html(response, 200, `<title>t</title><h1>Start</h1>${behaviour.body}`);
  const known = ANSWERS[url.pathname];
  if (known === undefined) html(response, 404, 'nothing');
  else known(response, url);
}
