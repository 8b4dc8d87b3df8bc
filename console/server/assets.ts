import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { previewPath } from '../../contract/preview.ts';

/** No inline code, no other origin, and no page of another site around it but around a preview. */
const pageHeaders = (frameAncestors: string, resourcePolicy: 'same-origin' | 'cross-origin') =>
  ({
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "media-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors ${frameAncestors}`,
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': resourcePolicy,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache', // the ETag says whether what the browser has is current
  }) as const;

/** Files that `npm run console` writes to console/assets/. */
const ASSETS = {
  'console.html': 'text/html; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'preview.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

/** Addresses of the pages: one document, whose script shows the page that the address names. */
export const PAGES = [
  '/',
  '/sign-in',
  '/sessions/:id',
  '/sessions/:id/replay',
  '/requests',
  '/credentials',
  '/policies',
  '/webhooks',
  '/profiles',
] as const;

/** Serves the pages and what they load, from memory. Pages of `embedOrigins` may have a preview in a frame. */
export async function serveAssets(app: FastifyInstance, embedOrigins: readonly string[]): Promise<void> {
  const read = async (name: keyof typeof ASSETS, headers: Readonly<Record<string, string>>) => {
    const content = await readFile(new URL(`../assets/${name}`, import.meta.url));
    const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    return async (request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(headers).header('etag', etag);
      if (request.headers['if-none-match'] === etag) return reply.status(304).send();
      return reply.type(ASSETS[name]).send(content);
    };
  };
  const own = pageHeaders("'none'", 'same-origin');
  const page = await read('console.html', own);
  for (const path of PAGES) app.get(path, page);
  for (const name of ['console.js', 'console.css', 'icon.svg'] as const) app.get(`/${name}`, await read(name, own));
  app.get(
    previewPath(':id'),
    await read('console.html', pageHeaders(["'self'", ...embedOrigins].join(' '), 'cross-origin')),
  );
  // The module of the web component: pages of other origins import it.
  const open = { ...pageHeaders("'none'", 'cross-origin'), 'access-control-allow-origin': '*' };
  app.get('/preview.js', await read('preview.js', open));
}
