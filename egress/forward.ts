import {
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
  request as send,
} from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { REFUSALS } from '../contract/egress.ts';
import { answerSocket, clientClosedSignal } from './client.ts';
import { ambiguousFraming, answerFields, hasBody, requestFields } from './headers.ts';
import type { OutboundConnection, OutboundConnections, OutboundRequest } from './outbound.ts';
import { pipeBoth } from './pipe-both.ts';
import { isRefusal, type Refusal, refusalHeaders, refusalPage } from './refusal.ts';
import { hostHeader, parseAbsolute, type Target } from './target.ts';

const HEADER_BYTES_MAX = 64 * 1024;

interface ParsedRequest {
  readonly wanted: OutboundRequest;
  readonly path: string;
  readonly fields: string[];
}

/** Parses an absolute-form request; a refusal for what a browser would not send to a proxy. */
function parseRequest(
  request: IncomingMessage,
  method: 'http' | 'upgrade',
  clientClosed: AbortSignal,
): ParsedRequest | (Refusal & { target: Target | null }) {
  const bad = (detail: string, target: Target | null = null) => ({ refused: 'bad_request' as const, detail, target });
  const absolute = parseAbsolute(request.url ?? '');
  if (!absolute) return bad('plain requests need an absolute http:// URL; https uses CONNECT');
  if (request.method === 'TRACE') return bad('TRACE is not supported', absolute.target);
  const ambiguous = ambiguousFraming(request);
  if (ambiguous) return bad(ambiguous, absolute.target);
  if (method === 'upgrade' && hasBody(request)) return bad('a handshake has no body', absolute.target);
  const fields = requestFields(request, hostHeader(absolute.target));
  const authorization = request.headers['proxy-authorization'];
  return {
    wanted: { authorization, target: absolute.target, method, client: request.socket, clientClosed },
    path: absolute.path,
    fields,
  };
}

function start(
  request: IncomingMessage,
  { path, fields }: ParsedRequest,
  { socket }: OutboundConnection,
  extra: readonly string[],
): ClientRequest {
  return send({
    method: request.method ?? 'GET',
    path,
    headers: [...fields, ...extra],
    createConnection: () => socket, // one checked socket per request: no pool that could outlive a policy
    maxHeaderSize: HEADER_BYTES_MAX,
  });
}

/** `GET http://host/path`: one request, one checked connection. */
export async function handleRequest(
  outbound: OutboundConnections,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', () => {});
  request.on('error', () => {});
  const clientClosed = new AbortController();
  response.once('close', () => clientClosed.abort());
  const parsed = parseRequest(request, 'http', clientClosed.signal);
  const answer = (refusal: Refusal, target: Target | null) => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const page = refusalPage(refusal, target);
    response.writeHead(REFUSALS[refusal.refused].status, refusalHeaders(refusal, page)).end(page);
    request.resume();
  };
  if (isRefusal(parsed)) return answer(parsed, parsed.target);
  const { wanted } = parsed;
  const connection = await outbound.open(wanted);
  if (isRefusal(connection)) {
    outbound.countRefusal(wanted, connection);
    return answer(connection, wanted.target);
  }

  const bodiless =
    request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined;
  // Without a length node:http would send an empty chunked body with POST.
  const length = bodiless && request.method !== 'GET' && request.method !== 'HEAD' ? ['Content-Length', '0'] : [];
  let onward: ClientRequest;
  let settled = false;
  const failed = (code: 'upstream_failed' | 'upstream_timeout') => {
    if (settled) return; // destroying the socket fails the request once more
    settled = true;
    connection.socket.destroy();
    if (!response.headersSent && !response.destroyed) outbound.countRefusal(wanted, { refused: code });
    answer({ refused: code }, wanted.target);
  };
  try {
    onward = start(request, parsed, connection, [...length, 'Connection', 'close']);
  } catch {
    return failed('upstream_failed'); // a header that node:http rejects
  }
  connection.socket.once('timeout', () => failed('upstream_timeout'));
  response.once('close', () => connection.socket.destroy());
  onward.once('error', () => failed('upstream_failed'));
  onward.once('response', incoming => {
    response.sendDate = false;
    try {
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage ?? '', answerFields(incoming));
    } catch {
      return failed('upstream_failed');
    }
    pipeline(incoming, response, error => {
      if (error) response.destroy();
    });
  });
  if (bodiless) onward.end();
  else
    pipeline(request, onward, error => {
      if (error) connection.socket.destroy();
    });
}

/** A websocket handshake in absolute form: browsers use CONNECT, other clients may not. */
export async function handleUpgrade(
  outbound: OutboundConnections,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  client.on('error', () => {});
  const parsed = parseRequest(request, 'upgrade', clientClosedSignal(client));
  if (isRefusal(parsed)) return answerSocket(client, parsed, parsed.target);
  const { wanted } = parsed;
  const connection = await outbound.open(wanted);
  const refuse = (refusal: Refusal) => {
    outbound.countRefusal(wanted, refusal);
    answerSocket(client, refusal, wanted.target);
  };
  if (isRefusal(connection)) return refuse(connection);

  const drop = () => connection.socket.destroy();
  client.once('close', drop);
  const onward = start(request, parsed, connection, ['Connection', 'Upgrade', 'Upgrade', 'websocket']);
  onward.once('error', () => refuse({ refused: 'upstream_failed' }));
  connection.socket.once('timeout', drop);
  onward.once('upgrade', (incoming, site: Socket, siteHead: Buffer) => {
    client.off('close', drop);
    client.write(headBytes(incoming, ['Connection', 'Upgrade', 'Upgrade', 'websocket']), 'latin1');
    if (siteHead.length > 0) site.unshift(siteHead);
    if (head.length > 0) client.unshift(head);
    pipeBoth(client, site);
  });
  onward.once('response', incoming => {
    client.write(headBytes(incoming, ['Connection', 'close']), 'latin1');
    pipeline(incoming, client, drop);
  });
  onward.end();
}

function headBytes(incoming: IncomingMessage, extra: readonly string[]): string {
  const status = incoming.statusCode ?? 502;
  const flat = [...answerFields(incoming), ...extra];
  let text = `HTTP/1.1 ${status} ${incoming.statusMessage || STATUS_CODES[status] || ''}\r\n`;
  for (let i = 0; i < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`;
  return `${text}\r\n`;
}
