import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A site that keeps a login in each kind of storage, and shows the page what it finds. */
export interface MemberSite extends AsyncDisposable {
  readonly url: string;
}

/** The site's data of a login; no test's log, file or database may hold it. */
export const SECRETS = {
  session: 'session-cookie-7f3a',
  lasting: 'lasting-cookie-91bc',
  local: 'local-storage-55de',
  database: 'indexed-db-c2e8',
  cached: 'cache-storage-2b7d',
} as const;

const OPEN = `const open = () => new Promise((done, fail) => {
  const request = indexedDB.open('member', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('tokens');
  request.onsuccess = () => done(request.result);
  request.onerror = () => fail(request.error);
});
const ask = request => new Promise((done, fail) => { request.onsuccess = () => done(request.result); request.onerror = () => fail(request.error) });`;

const LOGIN = `<!doctype html><title>Logging in</title><script>${OPEN}
(async () => {
  localStorage.setItem('token', '${SECRETS.local}');
  const tokens = (await open()).transaction('tokens', 'readwrite').objectStore('tokens');
  await ask(tokens.put({ token: '${SECRETS.database}', since: new Date(0), bytes: new Uint8Array([1, 2, 3]) }, 'member'));
  await ask(tokens.put('lost by Playwright', 0));
  await (await caches.open('member')).put('/cached', new Response('${SECRETS.cached}'));
  await navigator.serviceWorker.register('/worker.js');
  await navigator.serviceWorker.ready;
  document.title = 'Logged in';
})()</script>`;

const HOME = `<!doctype html><title>Home</title><body><script>${OPEN}
(async () => {
  const kept = await ask((await open()).transaction('tokens').objectStore('tokens').get('member'));
  const cookies = await (await fetch('/cookies')).json();
  const cached = await fetch('/cached');
  window.found = { ...cookies, cached: (await cached.text()) || null, local: localStorage.getItem('token'), database: kept?.token ?? null,
    typed: kept?.since instanceof Date && kept?.bytes instanceof Uint8Array };
  document.body.textContent = kept ? 'Member area' : 'Log in, please';
  document.title = 'Found';
})()</script>`;

/** Answers from Cache Storage: what it says has passed a service worker. */
const WORKER = `addEventListener('fetch', event => {
  if (event.request.url.endsWith('/cached')) event.respondWith(caches.match('/cached'));
})`;

/** The value of `window.found` once logged in, with all of it and with what a light profile keeps; and before. */
export const WHOLE_LOGIN = { ...SECRETS, typed: true };
export const LOGGED_IN = { ...WHOLE_LOGIN, cached: null };
export const LOGGED_OUT = { cached: null, session: null, lasting: null, local: null, database: null, typed: false };

export async function startMemberSite(): Promise<MemberSite> {
  const server = createServer((request, response) => {
    const cookies = new URLSearchParams((request.headers.cookie ?? '').replaceAll('; ', '&'));
    const html = (text: string, headers: Record<string, string | string[]> = {}) =>
      response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(text);
    switch (request.url) {
      case '/login':
        return html(LOGIN, {
          'set-cookie': [
            `session=${SECRETS.session}; HttpOnly; Path=/`,
            `lasting=${SECRETS.lasting}; HttpOnly; Path=/; Max-Age=86400`,
          ],
        });
      case '/cookies':
        return response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ session: cookies.get('session'), lasting: cookies.get('lasting') }));
      case '/worker.js':
        return response.writeHead(200, { 'content-type': 'text/javascript' }).end(WORKER);
      case '/cached':
        return response.writeHead(204).end();
      default:
        return html(HOME);
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on TCP
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
