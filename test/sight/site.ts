import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { CORPUS, miniwobFolder } from './corpus.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.gif': 'image/gif',
};
const MODULES = join(CORPUS, 'node_modules');
/** UIkit's tests build this one. */
const UIKIT = `document.writeln('<link rel=stylesheet href="/uikit/dist/css/uikit.css"><script src="/uikit/dist/js/uikit.js"></' +
'script><script src="/uikit/dist/js/uikit-icons.js"></' + 'script>')`;
/** The places at which Foundation's tests expect what its build leaves elsewhere. */
const FOUNDATION: readonly (readonly [RegExp, string])[] = [
  [/^\/foundation-sites\/test\/visual\/assets\/css\//, 'foundation-sites/dist/css/'],
  [/^\/foundation-sites\/test\/visual\/assets\/js\/(?=foundation)/, 'foundation-sites/dist/js/'],
  [/^.*\/(?:jquery|vendor)\.js$/, 'jquery/dist/jquery.js'],
];

/** Serves the packages' pages by their paths, and MiniWoB++ below `/miniwob/`. */
export async function serveCorpus(): Promise<{ origin: string; close(): void }> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const path = normalize(decodeURIComponent(pathname));
    const seed = searchParams.get('seed');
    if (path === '/uikit/tests/js/test.js')
      return void response.setHeader('content-type', 'text/javascript').end(UIKIT);
    const file = fileOf(path);
    if (file === undefined) return void response.writeHead(404).end();
    const content = seed === null ? readFileSync(file) : seededTask(readFileSync(file, 'utf8'), seed);
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream').end(content);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    origin: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A task of MiniWoB++ that begins at once, as this seed has it, and has all the time it takes. */
const seededTask = (html: string, seed: string): string =>
  html.replace(
    '</head>',
    `<script>Math.seedrandom(${JSON.stringify(seed)}); core.countdownTimer = () => {};
addEventListener('load', () => { Math.seedrandom(${JSON.stringify(seed)}); core.EPISODE_MAX_TIME = 3e6; core.startEpisodeReal(); })</script></head>`,
  );

function fileOf(path: string): string | undefined {
  if (path.startsWith('/miniwob/')) return existing(join(miniwobFolder(), path.slice('/miniwob/'.length)));
  const own = existing(join(MODULES, path)) ?? existing(join(MODULES, 'cypress-example-kitchensink/app', path));
  const moved = FOUNDATION.filter(([from]) => from.test(path)).map(([from, to]) =>
    existing(join(MODULES, path.replace(from, to))),
  );
  return own ?? moved.find(each => each !== undefined);
}

const existing = (file: string): string | undefined => (existsSync(file) && statSync(file).isFile() ? file : undefined);
