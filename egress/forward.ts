import {
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
  request as send,
} from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { PROXY_TRACEPARENT, REFUSALS } from '../contract/egress.ts';
import { requestFields } from '../http/end-to-end.ts';
import { mayReuse } from '../http/may-reuse.ts';
import { answerSocket, clientClosedSignal } from './client.ts';
import { ambiguousFraming, hasBody, siteAnswerFields } from './headers.ts';
import type { OutboundConnection, OutboundConnections, OutboundRequest } from './outbound.ts';
import { pipeBoth } from './pipe-both.ts';
import { isRefusal, type ProxyRefusal, refusalHeaders, refusalPage } from './refusal.ts';
import { type Destination, hostHeader, parseAbsolute } from './target.ts';

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
): ParsedRequest | (ProxyRefusal & { target: Destination | null }) {
  const bad = (detail: string, target: Destination | null = null) => ({
    refused: 'bad_request' as const,
    detail,
    target,
  });
  const absolute = parseAbsolute(request.url ?? '');
  if (!absolute) return bad('plain requests need an absolute http:// URL; https uses CONNECT');
  if (request.method === 'TRACE') return bad('TRACE is not supported', absolute.target);
  const ambiguous = ambiguousFraming(request);
  if (ambiguous) return bad(ambiguous, absolute.target);
  if (method === 'upgrade' && hasBody(request)) return bad('a handshake has no body', absolute.target);
  const fields = requestFields(request, hostHeader(absolute.target));
  const authorization = request.headers['proxy-authorization'];
  return {
    wanted: {
      authorization,
      traceparent: request.headers[PROXY_TRACEPARENT],
      target: absolute.target,
      method,
      client: request.socket,
      clientClosed,
      mayReuse: method === 'http' && mayReuse(request),
    },
    path: absolute.path,
    fields,
  };
}

function start(
  request: IncomingMessage,
  { path, fields }: ParsedRequest,
  { socket, agent }: OutboundConnection,
  extra: readonly string[],
): ClientRequest {
  return send({
    method: request.method ?? 'GET',
    path,
    headers: [...fields, ...extra],
    ...(agent ? { agent } : { createConnection: () => socket }), // never a pool that could choose another connection
    maxHeaderSize: HEADER_BYTES_MAX,
  });
}

/**
 * `GET http://host/path`: a new checked connection, or a kept one whose address is checked again. A request that finds its kept
 * connection closed is sent once more, on a new one.
 */
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
  if (isRefusal(parsed)) return answerRefusal(request, response, parsed, parsed.target);
  const ended = await attempt(outbound, request, response, parsed);
  if (ended === 'stale' && !clientClosed.signal.aborted)
    await attempt(outbound, request, response, { ...parsed, wanted: { ...parsed.wanted, mayReuse: false } });
}

function answerRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: ProxyRefusal,
  target: Destination | null,
) {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const page = refusalPage(refusal, target);
  response.writeHead(REFUSALS[refusal.refused].status, refusalHeaders(refusal, page)).end(page);
  request.resume();
}

/** `stale`: a kept connection failed before the site's answer began, and nothing was answered. */
async function attempt(
  outbound: OutboundConnections,
  request: IncomingMessage,
  response: ServerResponse,
  parsed: ParsedRequest,
): Promise<'answered' | 'stale'> {
  const { wanted } = parsed;
  const connection = await outbound.open(wanted);
  if (isRefusal(connection)) {
    outbound.countRefusal(wanted, connection);
    answerRefusal(request, response, connection, wanted.target);
    return 'answered';
  }
  const { socket, reused } = connection;
  const failed = (code: 'upstream_failed' | 'upstream_timeout') => {
    socket.destroy();
    if (!response.headersSent && !response.destroyed) outbound.countRefusal(wanted, { refused: code });
    answerRefusal(request, response, { refused: code }, wanted.target);
  };
  const bodiless =
    request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined;
  // Without a length node:http would send an empty chunked body with POST.
  const length = bodiless && request.method !== 'GET' && request.method !== 'HEAD' ? ['Content-Length', '0'] : [];
  let onward: ClientRequest;
  try {
    onward = start(request, parsed, connection, length);
  } catch {
    failed('upstream_failed'); // a header that node:http rejects
    return 'answered';
  }
  return new Promise(done => {
    let site: IncomingMessage | undefined;
    let settled = false;
    const settle = (outcome: 'answered' | 'stale', failure?: 'upstream_failed' | 'upstream_timeout') => {
      if (settled) return; // destroying the socket fails the request once more
      settled = true;
      if (failure) failed(failure);
      done(outcome);
    };
    const onTimeout = () => settle('answered', 'upstream_timeout');
    const dropSite = () => socket.destroy();
    socket.once('timeout', onTimeout);
    response.once('close', dropSite);
    // The exchange is over: the connection may already be another request's.
    onward.once('close', () => {
      socket.off('timeout', onTimeout);
      response.off('close', dropSite);
      settle('answered');
    });
    onward.once('error', () => {
      socket.destroy();
      if (site?.complete) return; // bytes after the answer: what was answered stays answered
      if (reused && !site) settle('stale');
      else settle('answered', 'upstream_failed');
    });
    onward.once('response', incoming => {
      site = incoming;
      response.sendDate = false;
      try {
        response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage ?? '', siteAnswerFields(incoming));
      } catch {
        return settle('answered', 'upstream_failed');
      }
      pipeline(incoming, response, error => {
        if (error) response.destroy();
      });
    });
    if (bodiless) onward.end();
    else
      pipeline(request, onward, error => {
        if (error) socket.destroy();
      });
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
  const refuse = (refusal: ProxyRefusal) => {
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
  const flat = [...siteAnswerFields(incoming), ...extra];
  let text = `HTTP/1.1 ${status} ${incoming.statusMessage || STATUS_CODES[status] || ''}\r\n`;
  for (let i = 0; i < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`;
  return `${text}\r\n`;
}
