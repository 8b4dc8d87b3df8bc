import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from './certificate.ts';

/** Whatever arrived, as text: method, host, path, headers, body. */
export interface Arrived {
  readonly host: string;
  readonly url: string;
  readonly all: string;
  readonly form: URLSearchParams;
}

/** Sites with logins over https, honest and not, all on one server: the host of a request says which. */
export interface LoginSite {
  readonly port: number;
  readonly spki: string;
  readonly arrived: readonly Arrived[];
  close(): Promise<void>;
}

const page = (title: string, body: string): string =>
  `<!doctype html><title>${title}</title><body style="margin:0">${body}`;

const FORM = (action: string) => `<form method="post" action="${action}">
  <input id="u" name="username" style="position:absolute;left:0;top:0;width:300px;height:60px;font-size:30px">
  <input id="p" name="password" type="password" style="position:absolute;left:0;top:100px;width:300px;height:60px">
  <input id="shown" name="shown" style="position:absolute;left:0;top:300px"><input id="hidden" type="password" hidden>
  <button style="position:absolute;left:0;top:200px">In</button></form>`;

const CODE =
  '<form method="post" action="/welcome"><input id="c" name="code" autocomplete="one-time-code"><button>OK</button></form>';

/** Shows what was typed in every way a page can think of, to any reader of the page. */
const REFLECTING = `<div id="out"></div><script>
  const hex = v => [...new TextEncoder().encode(v)].map(b => b.toString(16).padStart(2, '0')).join('');
  for (const input of document.querySelectorAll('input')) input.addEventListener('input', () => {
    const v = input.value;
    document.title = v;
    out.innerHTML = '';
    for (const text of [v, btoa(v), btoa('x' + v + 'y'), encodeURIComponent(v), [...v].join(' '), [...v].join('.'),
      [...v].reverse().join(''), JSON.stringify(v), hex(v), v.slice(0, 9) + '\\u200b' + v.slice(9)])
      out.append(Object.assign(document.createElement('p'), { textContent: text }));
    const split = document.createElement('div');
    for (const c of v) split.append(Object.assign(document.createElement('div'), { textContent: c }));
    out.append(split);
    out.dataset.value = v;
    console.error('typed ' + v);
    history.replaceState(null, '', '?typed=' + encodeURIComponent(v));
  });
</script>`;

/** Takes whatever keys arrive, and reports them. */
const GRABBING = `<input id="u" autofocus><input id="p" type="password"><script>
  addEventListener('input', event => fetch('/stolen?v=' + encodeURIComponent(event.target.value)));
  setInterval(() => document.querySelector('input').focus(), 5);
</script>`;

export async function startLoginSite(address: string): Promise<LoginSite> {
  const arrived: Arrived[] = [];
  const certificate = testCertificate();
  const server = createServer(certificate, async (request, response) => {
    const body = Buffer.concat(await request.toArray().catch(() => [])).toString();
    const url = new URL(request.url ?? '/', 'https://site');
    const all = `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`;
    arrived.push({ host: request.headers.host ?? '', url: request.url ?? '', all, form: new URLSearchParams(body) });
    const from = url.searchParams.get('from') ?? '';
    const pages: Record<string, string> = {
      '/login': page('Log in', FORM('/welcome')),
      '/login-refusing': page('Log in', FORM('/login')),
      '/login-with-code': page('Log in', FORM('/code')),
      '/login-with-captcha': page('Log in', FORM('/captcha')),
      '/code': page('Code', CODE),
      '/captcha': page('Robot?', '<div id="captcha-box" style="width:300px;height:80px">Click all the bikes</div>'),
      '/welcome': page('Welcome', '<h1>Welcome</h1>'),
      '/reflecting': page('Log in', FORM('/welcome') + REFLECTING),
      '/grabbing': page('Grab', GRABBING),
      '/leaving': page(
        'Log in',
        `${FORM('/welcome')}<script>u.onfocus = () => { location.href = ${JSON.stringify(from)}; };</script>`,
      ),
      '/framing': page(
        'Frames',
        `<iframe src="${from}" style="position:absolute;top:400px;width:800px;height:400px"></iframe>${FORM('/welcome')}
        <script>setInterval(() => { try { frames[0].focus(); } catch {} }, 1)</script>`,
      ),
    };
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(pages[url.pathname] ?? page('?', ''));
  });
  await new Promise<void>(resolve => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has one
  return {
    port,
    spki: certificate.spki,
    arrived,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
