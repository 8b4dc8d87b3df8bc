import type { Routes } from '../serve-cases.ts';

const EXPECTED = `Basic ${Buffer.from('ada:pw').toString('base64')}`;

export default {
  'index.html': (request, response) =>
    request.headers.authorization === EXPECTED
      ? response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Case</title><h1>Inside</h1>')
      : response
          .writeHead(401, { 'www-authenticate': 'Basic realm="Staging"', 'content-type': 'text/html' })
          .end('<h1>401 Authorization Required</h1>'),
} satisfies Routes;
