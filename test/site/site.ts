import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A small site with a login, on loopback: what an agent meets, without the internet. */
export interface Site {
  /** e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Bodies of the logins that arrived. */
  readonly logins: readonly { username: string; password: string }[];
  close(): Promise<void>;
}

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1>${body}</body></html>`;

const PAGES: Record<string, string> = {
  '/': page('Shop', '<p>Welcome.</p><a href="/login">Log in</a> <a href="/account">Account</a>'),
  '/login': page(
    'Log in',
    `<form method="post" action="/login">
      <label>User name <input name="username" autocomplete="username"></label>
      <label>Password <input name="password" type="password" autocomplete="current-password"></label>
      <button>Log in</button></form>`,
  ),
  '/animated': page(
    'Animated',
    `<canvas width="600" height="300"></canvas><script>
      const c = document.querySelector('canvas').getContext('2d'); let n = 0;
      (function draw() { c.fillStyle = 'hsl(' + (n++ % 360) + ',80%,50%)'; c.fillRect(0, 0, 600, 300); requestAnimationFrame(draw); })();
    </script>`,
  ),
  '/hang': page('Hang', '<button onclick="while (true);">Hang</button>'),
  '/alert': page('Alert', '<button onclick="alert(\'hello\')">Alert</button>'),
  // A frame of its own, one of another site, an invisible one, and an open shadow root.
  '/frames': page(
    'Frames',
    `<iframe name=own srcdoc="<p>In the frame</p><a href='https://example.com/framed'>Framed</a><input aria-label=&quot;It's inside&quot;>"></iframe>
    <iframe id=other></iframe><iframe style="display:none" srcdoc="Nobody sees this"></iframe><x-box></x-box><script>
    other.src = '//localhost:' + location.port + '/login';
    const root = document.querySelector('x-box').attachShadow({ mode: 'open' });
    root.innerHTML = '<p>In the shadow</p><a href="https://example.com/shadow">Shadow</a><input name=shady><button>Tell</button>';
    root.querySelector('button').onclick = () => { document.title = root.querySelector('input').value };</script>`,
  ),
  '/popups': page('Popups', '<button onclick="for (let i = 0; i < 40; i++) window.open(\'/\')">Open</button>'),
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Starts the site, on a free port unless set. A login sets a cookie; /account greets a visitor who has one. */
export async function startSite({ host = '127.0.0.1', port = 0 } = {}): Promise<Site> {
  const logins: { username: string; password: string }[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://site');
    const html = (status: number, text: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(text);
    if (request.method === 'POST' && url.pathname === '/login') {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('end', () => {
        const form = new URLSearchParams(body);
        const username = form.get('username') ?? '';
        logins.push({ username, password: form.get('password') ?? '' });
        const cookie = `user=${encodeURIComponent(username)}; Path=/; HttpOnly; SameSite=Lax`;
        html(303, '', { location: '/account', 'set-cookie': cookie });
      });
      return;
    }
    if (url.pathname === '/account') {
      const user = /(?:^|; )user=([^;]*)/.exec(request.headers.cookie ?? '')?.[1];
      if (user === undefined) html(200, page('Account', '<p>You are not logged in.</p>'));
      else html(200, page('Account', `<p>Hello ${escaped(decodeURIComponent(user))}!</p>`));
      return;
    }
    // Shows its query: a page may repeat what was typed.
    if (url.pathname === '/echo') {
      html(200, page('Echo', `<p>${escaped(url.searchParams.get('text') ?? '')}</p>`));
      return;
    }
    if (url.pathname === '/redirect') {
      response.writeHead(302, { location: url.searchParams.get('to') ?? '/' }).end();
      return;
    }
    // Never answers: a navigation to it runs into its time limit.
    if (url.pathname === '/never') return;
    const text = PAGES[url.pathname];
    html(text === undefined ? 404 : 200, text ?? page('Not found', ''));
  });
  await new Promise<void>(resolve => server.listen(port, host, resolve));
  const bound = server.address() as AddressInfo; // a TCP server has one
  return {
    url: `http://${host}:${bound.port}`,
    logins,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
