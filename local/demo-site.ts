import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A bakery with a login, on loopback, so that the demo works offline. */
export interface DemoSite {
  /** e.g. `http://127.0.0.2:41234`. */
  readonly url: string;
  readonly login: { readonly username: string; readonly password: string };
  close(): Promise<void>;
}

/** An address of its own, so that allowing it allows nothing else on this machine; other systems have one loopback address. */
const HOST = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
/** The one customer. */
export const DEMO_LOGIN = { username: 'ada@example.com', password: 'analytical-engine-1843' };
const COOKIE = 'bakery=ada';
const FORM_BYTES_MAX = 4096;

const renderPage = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>
  body { font: 18px/1.5 system-ui, sans-serif; margin: 0; background: #fdf6ec; color: #3b2a1a }
  header { background: #b5651d; color: #fff; padding: 1rem 2rem; font-size: 1.5rem }
  main { max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
  input, button { font: inherit; padding: .5rem; margin: .25rem 0; display: block; width: 100%; box-sizing: border-box }
  button { background: #b5651d; color: #fff; border: 0; cursor: pointer }
  .steam { display: inline-block; animation: rise 2s infinite alternate } @keyframes rise { to { transform: translateY(-.5rem) } }
</style></head><body><header><span class="steam">🥖</span> The Demo Bakery</header><main>${body}</main></body></html>`;

const FRONT = renderPage(
  'The Demo Bakery',
  '<h1>Fresh every morning</h1><p>Customers find their orders behind the login.</p><p><a href="/login">Log in</a></p>',
);
const LOGIN_FORM = renderPage(
  'Log in - The Demo Bakery',
  `<h1>Log in</h1><form method="post" action="/login">
  <label>E-mail <input id="username" name="username" autocomplete="username" required></label>
  <label>Password <input id="password" name="password" type="password" autocomplete="current-password" required></label>
  <button id="submit">Log in</button></form>`,
);
const REFUSED = renderPage(
  'Log in - The Demo Bakery',
  '<h1>Wrong e-mail or password</h1><p><a href="/login">Again</a></p>',
);
const ORDERS = renderPage(
  'Your orders - The Demo Bakery',
  '<h1>Welcome back, Ada</h1><ul><li>2 sourdough loaves, ready at 8:00</li><li>1 apple pie, ready at 15:00</li></ul>',
);

/** Starts the site, by default on a free port. */
export async function startDemoSite({ host = HOST, port = 0 } = {}): Promise<DemoSite> {
  const server = createServer(async (request, response) => {
    const html = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(text);
    const redirect = (to: string, headers: Record<string, string> = {}) =>
      response.writeHead(303, { location: to, ...headers }).end();
    switch (`${request.method} ${request.url}`) {
      case 'GET /':
        return html(200, FRONT);
      case 'GET /login':
        return html(200, LOGIN_FORM);
      case 'POST /login': {
        const form = new URLSearchParams(await bodyOf(request));
        if (form.get('username') !== DEMO_LOGIN.username || form.get('password') !== DEMO_LOGIN.password)
          return html(403, REFUSED);
        return redirect('/orders', { 'set-cookie': `${COOKIE}; Path=/; HttpOnly; SameSite=Lax` });
      }
      case 'GET /orders':
        return request.headers.cookie === COOKIE ? html(200, ORDERS) : redirect('/login');
      default:
        return html(404, renderPage('Not found', '<h1>Not found</h1>'));
    }
  });
  await new Promise<void>(resolve => server.listen(port, host, resolve));
  const bound = server.address() as AddressInfo; // a TCP server has one
  return {
    url: `http://${host}:${bound.port}`,
    login: DEMO_LOGIN,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk);
    if (Buffer.concat(chunks).length > FORM_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
