import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';

/**
 * Passes a request on to another server, under its own host, and the answer back as it comes. When either end breaks off, so does the
 * other.
 */
export function passOn(request: IncomingMessage, response: ServerResponse, to: URL): void {
  const { method, headers } = request;
  const onward = requestHttp(to, { method, headers: { ...endToEnd(headers), host: to.host } });
  onward.on('response', answer => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

/** Of one connection, not of the message: <https://datatracker.ietf.org/doc/html/rfc9110#section-7.6.1>. The framing is passed on with the body. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...named.filter(name => !FRAMING.has(name))]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
/** A client that names these would take the end of its message away. */
const FRAMING = new Set(['content-length', 'transfer-encoding']);
