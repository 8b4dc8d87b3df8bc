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
import { answerSocket, goneSignal } from './client.ts';
import { endToEnd, requestFields } from './headers.ts';
import type { Passage, PassageRequest, Passages } from './passage.ts';
import { isRefusal, type Refusal, refusalHeaders, refusalPage } from './refusal.ts';
import { splice } from './splice.ts';
import { hostHeader, parseAbsolute, type Target } from './target.ts';

const HEADER_BYTES_MAX = 64 * 1024;

interface Asked {
  readonly ask: PassageRequest;
  readonly path: string;
  readonly fields: string[];
}

/** Reads an absolute-form request; a refusal for what a browser would not send to a proxy. */
function read(
  request: IncomingMessage,
  method: 'http' | 'upgrade',
  gone: AbortSignal,
): Asked | (Refusal & { target: Target | null }) {
  const bad = (detail: string, target: Target | null = null) => ({ refused: 'bad_request' as const, detail, target });
  const parsed = parseAbsolute(request.url ?? '');
  if (!parsed) return bad('plain requests need a full http:// address; https goes by CONNECT');
  if (request.method === 'TRACE') return bad('TRACE is not passed on', parsed.target);
  const fields = requestFields(request.rawHeaders, request.headers, hostHeader(parsed.target));
  if (!fields) return bad('the length of the body is not clear', parsed.target);
  const authorization = request.headers['proxy-authorization'];
  return {
    ask: { authorization, target: parsed.target, method, gone },
    path: parsed.path,
    fields,
  };
}

function start(
  request: IncomingMessage,
  { path, fields }: Asked,
  { socket }: Passage,
  extra: readonly string[],
): ClientRequest {
  return send({
    method: request.method ?? 'GET',
    path,
    headers: [...fields, ...extra],
    createConnection: () => socket, // one judged socket for one request: no pool that could outlive a policy
    maxHeaderSize: HEADER_BYTES_MAX,
  });
}

/** `GET http://host/path`: one request, one judged connection. */
export async function handleRequest(
  passages: Passages,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', () => {});
  request.on('error', () => {});
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const asked = read(request, 'http', gone.signal);
  const answer = (refusal: Refusal, target: Target | null) => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const page = refusalPage(refusal, target);
    response.writeHead(REFUSALS[refusal.refused].status, refusalHeaders(refusal, page)).end(page);
    request.resume();
  };
  if (isRefusal(asked)) return answer(asked, asked.target);
  const { ask } = asked;
  const passage = await passages.open(ask);
  if (isRefusal(passage)) {
    passages.refused(ask, passage);
    return answer(passage, ask.target);
  }

  const bodiless =
    request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined;
  // Without a length node:http would send an empty chunked body with POST.
  const length = bodiless && request.method !== 'GET' && request.method !== 'HEAD' ? ['Content-Length', '0'] : [];
  let onward: ClientRequest;
  let over = false;
  const failed = (code: 'upstream_failed' | 'upstream_timeout') => {
    if (over) return; // destroying the socket fails the request once more
    over = true;
    passage.socket.destroy();
    if (!response.headersSent && !response.destroyed) passages.refused(ask, { refused: code });
    answer({ refused: code }, ask.target);
  };
  try {
    onward = start(request, asked, passage, [...length, 'Connection', 'close']);
  } catch {
    return failed('upstream_failed'); // a field that node:http will not write
  }
  passage.socket.once('timeout', () => failed('upstream_timeout'));
  response.once('close', () => passage.socket.destroy());
  onward.once('error', () => failed('upstream_failed'));
  onward.once('response', incoming => {
    response.sendDate = false;
    try {
      const head = endToEnd(incoming.rawHeaders, 'site');
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage ?? '', head);
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
      if (error) passage.socket.destroy();
    });
}

/** A websocket that was asked for in absolute form; browsers use CONNECT, other clients may not. */
export async function handleUpgrade(
  passages: Passages,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  client.on('error', () => {});
  const asked = read(request, 'upgrade', goneSignal(client));
  if (isRefusal(asked)) return answerSocket(client, asked, asked.target);
  const { ask } = asked;
  const passage = await passages.open(ask);
  const refuse = (refusal: Refusal) => {
    passages.refused(ask, refusal);
    answerSocket(client, refusal, ask.target);
  };
  if (isRefusal(passage)) return refuse(passage);

  const drop = () => passage.socket.destroy();
  client.once('close', drop);
  const onward = start(request, asked, passage, ['Connection', 'Upgrade', 'Upgrade', 'websocket']);
  onward.once('error', () => refuse({ refused: 'upstream_failed' }));
  passage.socket.once('timeout', drop);
  onward.once('upgrade', (incoming, site: Socket, siteHead: Buffer) => {
    client.off('close', drop);
    client.write(headBytes(incoming, ['Connection', 'Upgrade', 'Upgrade', 'websocket']), 'latin1');
    if (siteHead.length > 0) site.unshift(siteHead);
    if (head.length > 0) client.unshift(head);
    splice(client, site);
  });
  onward.once('response', incoming => {
    client.write(headBytes(incoming, ['Connection', 'close']), 'latin1');
    pipeline(incoming, client, drop);
  });
  onward.end();
}

function headBytes(incoming: IncomingMessage, extra: readonly string[]): string {
  const status = incoming.statusCode ?? 502;
  const flat = [...endToEnd(incoming.rawHeaders, 'site'), ...extra];
  let text = `HTTP/1.1 ${status} ${incoming.statusMessage || STATUS_CODES[status] || ''}\r\n`;
  for (let i = 0; i < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`;
  return `${text}\r\n`;
}
