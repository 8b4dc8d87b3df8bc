import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** No inline code, no other origin, and no page of another site around it. */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "media-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache', // the ETag says whether what the browser has is current
} as const;

/** What `npm run console` writes to console/assets/. */
const ASSETS = {
  'console.html': 'text/html; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
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
] as const;

/** Serves the pages and what they load, from memory. */
export async function serveAssets(app: FastifyInstance): Promise<void> {
  const read = async (name: keyof typeof ASSETS) => {
    const content = await readFile(new URL(`../assets/${name}`, import.meta.url));
    const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    return async (request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(PAGE_HEADERS).header('etag', etag);
      if (request.headers['if-none-match'] === etag) return reply.status(304).send();
      return reply.type(ASSETS[name]).send(content);
    };
  };
  const page = await read('console.html');
  for (const path of PAGES) app.get(path, page);
  for (const name of ['console.js', 'console.css', 'icon.svg'] as const) app.get(`/${name}`, await read(name));
}
