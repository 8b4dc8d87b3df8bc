import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { testCertificate } from '../site/certificate.ts';

export type Routes = Readonly<
  Record<string, (request: IncomingMessage, response: ServerResponse, url: URL) => unknown>
>;

/** The pages of the cases: `/NAME/` is the folder NAME of this one. */
export interface CaseSite {
  readonly host: string;
  /** The same pages by https, with an untrusted certificate. */
  readonly secureHost: string;
  /** Posts of a case's page to `_log`. */
  logged(name: string): readonly string[];
  close(): void;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
};

/** `__ORIGIN__` in a page is the site's origin, `__OTHER__` that of another site with the same pages. */
export async function serveCases(): Promise<CaseSite> {
  const logged = new Map<string, string[]>();
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  const host = `127.0.0.1:${port}`;
  const { key, cert } = testCertificate('127.0.0.1', { address: '127.0.0.1' });
  const secure = createSecureServer({ key, cert }, (request, response) => void answer(request, response));
  await once(secure.listen(0, '127.0.0.1'), 'listening');

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `http://${host}`);
    const [, name = '', ...rest] = url.pathname.split('/');
    const path = rest.join('/') || 'index.html';
    if (!/^[\w-]+$/.test(name) || path.includes('..')) return void response.writeHead(404).end();
    if (path === '_log') {
      logged.set(name, [...(logged.get(name) ?? []), await text(request)]);
      return void response.writeHead(204, { 'access-control-allow-origin': '*' }).end();
    }
    const route = (await routesOf(name))[path];
    if (route !== undefined) return void (await route(request, response, url));
    const page = join(import.meta.dirname, name, path);
    const file = existsSync(page) && statSync(page).isFile() ? page : join(import.meta.dirname, name, 'index.html');
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    const words = readFileSync(file, 'utf8');
    response.end(words.replaceAll('__OTHER__', `http://localhost:${port}`).replaceAll('__ORIGIN__', `http://${host}`));
  }

  return {
    host,
    secureHost: `127.0.0.1:${(secure.address() as AddressInfo).port}`,
    logged: name => logged.get(name) ?? [],
    close() {
      for (const each of [server, secure]) {
        each.closeAllConnections();
        each.close();
      }
    },
  };
}

async function routesOf(name: string): Promise<Routes> {
  const file = join(import.meta.dirname, name, 'routes.ts');
  if (!existsSync(file)) return {};
  const { default: routes }: { default: Routes } = await import(file);
  return routes;
}
