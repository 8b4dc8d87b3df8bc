import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Megabytes that a page stores. */
export interface Bulk {
  readonly database: number;
  readonly cache: number;
}

/** A site whose page may store what it likes. */
export async function startStoringSite(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'login=ada; Max-Age=86400; HttpOnly' });
    response.end('<!doctype html><title>Site</title><p>Hello');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // listens on TCP
  return {
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const OPEN = `const db = await new Promise(done => {
  const request = indexedDB.open('bulk', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('s');
  request.onsuccess = () => done(request.result);
});
const ended = request => new Promise((done, fail) => { request.onsuccess = () => done(request.result); request.onerror = fail });`;

/** A call of a tool ends after 30 s. */
const MEGABYTES_A_CALL = 32;
const RECORD_LENGTH = 95_000;

/**
 * Functions that together log in and store the given amounts. Random text: real content is compressed a little, and so is this.
 */
export function fill({ database, cache }: Bulk): string[] {
  const calls = ({ megabytes, put }: { megabytes: number; put: string }) =>
    Array.from(
      { length: Math.ceil(megabytes / MEGABYTES_A_CALL) },
      (_, part) => `async () => {
        ${OPEN}
        const text = length => {
          let all = '';
          while (all.length < length) all += btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(49_152))));
          return all.slice(0, length);
        };
        const put = (value, key) => ended(db.transaction('s', 'readwrite').objectStore('s').put(value, key));
        const bulk = await caches.open('bulk');
        localStorage.setItem('login', 'ada');
        await put('ada', 'login');
        const end = ${Math.min(megabytes, (part + 1) * MEGABYTES_A_CALL)} * 1_000_000;
        for (let at = ${part * MEGABYTES_A_CALL} * 1_000_000; at < end; at += ${RECORD_LENGTH}) ${put};
        return true;
      }`,
    );
  return [
    ...calls({ megabytes: database, put: `await put(text(${RECORD_LENGTH}), at + 1)` }),
    ...calls({ megabytes: cache, put: `await bulk.put('/bulk/' + at, new Response(text(${RECORD_LENGTH})))` }),
  ];
}

/** The changes of one more login. */
export const LOGIN_AGAIN = `async () => {
  ${OPEN}
  localStorage.setItem('login', 'ada again');
  await ended(db.transaction('s', 'readwrite').objectStore('s').put('ada again', 'login'));
  return true;
}`;

/** Whether the page finds that login. */
export const STORED = `async () => {
  ${OPEN}
  const kept = await ended(db.transaction('s').objectStore('s').get('login'));
  return localStorage.getItem('login') === 'ada again' && kept === 'ada again';
}`;
