import { connect, type Socket } from 'node:net';
import { REFUSAL_HEADER } from '../../contract/egress.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly refusal: string | undefined;
}

const DEADLINE_MS = 15_000;
const OPENED = /^HTTP\/1\.[01] 200 /;

/** An answer from the bytes of one; bodies are taken as they stand (until close, or by length). */
export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end === -1 ? undefined : end).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines)
    headers[line.slice(0, line.indexOf(':')).toLowerCase()] = line.slice(line.indexOf(':') + 1).trim();
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: end === -1 ? '' : text.slice(end + 4),
    refusal: headers[REFUSAL_HEADER],
  };
}

/** Sends bytes and reads until the other side closes. Fails after a deadline: nothing may hang. */
export function exchange(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((done, failed) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const timer = setTimeout(() => {
      socket.destroy();
      failed(new Error(`no close within ${DEADLINE_MS} ms; so far: ${text.slice(0, 200)}`));
    }, DEADLINE_MS);
    socket.on('data', chunk => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      done(text);
    });
    socket.write(bytes);
  });
}

export const basic = (runnerId: string, credential: string): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${runnerId}:${credential}`).toString('base64')}\r\n`;

/** `GET` in absolute form, on a connection of its own. */
export const get = async (port: number, auth: string, url: string, extra = ''): Promise<RawAnswer> =>
  parseAnswer(await exchange(port, `GET ${url} HTTP/1.1\r\nHost: x\r\n${auth}${extra}Connection: close\r\n\r\n`));

/** A websocket handshake in absolute form; a refusal or the site's answer. */
export const upgrade = async (port: number, auth: string, url: string): Promise<RawAnswer> =>
  parseAnswer(
    await exchange(
      port,
      `GET ${url} HTTP/1.1\r\nHost: x\r\n${auth}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    ),
  );

/** `CONNECT`; a socket whose next byte is the site's, or the refusal. */
export function tunnel(port: number, auth: string, authority: string, early = ''): Promise<Socket | RawAnswer> {
  return new Promise((done, failed) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    const timer = setTimeout(() => {
      socket.destroy();
      failed(new Error('no answer to CONNECT'));
    }, DEADLINE_MS);
    const settle = (outcome: Socket | RawAnswer) => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      done(outcome);
    };
    const onClose = () => settle(parseAnswer(text));
    const onData = (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!OPENED.test(text) || !text.includes('\r\n\r\n')) return;
      socket.pause();
      const rest = text.slice(text.indexOf('\r\n\r\n') + 4);
      if (rest) socket.unshift(Buffer.from(rest, 'latin1'));
      settle(socket);
    };
    socket
      .on('error', () => {})
      .on('data', onData)
      .on('close', onClose)
      .on('end', () => {
        if (!OPENED.test(text)) socket.end();
      });
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${auth}\r\n${early}`);
  });
}

export const isAnswer = (outcome: Socket | RawAnswer): outcome is RawAnswer => 'status' in outcome;

/** Resolves with what came until the socket closed; fails after a deadline. */
export function untilClosed(socket: Socket): Promise<string> {
  return new Promise((done, failed) => {
    let text = '';
    const timer = setTimeout(() => failed(new Error('the socket stayed open')), DEADLINE_MS);
    socket.on('data', chunk => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => {
      clearTimeout(timer);
      done(text);
    });
    socket.on('end', () => socket.end());
    socket.resume();
  });
}
