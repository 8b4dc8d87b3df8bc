import type { Routes } from '../serve-cases.ts';

export default {
  'index.html': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(
      `<!doctype html><title>Order</title><label>Note <input id="note"></label>
<a id="beside" href="silent" target="_blank">Report beside</a><a id="slow" href="slow">Slow report</a>
<form action="silent"><button>Send</button></form>`,
    ),
  silent: () => undefined,
  slow: (_request, response) =>
    setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Slow report</h1>'), 3_000),
} satisfies Routes;
