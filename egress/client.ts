import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REFUSALS } from '../contract/egress.ts';
import { type ProxyRefusal, refusalBytes } from './refusal.ts';
import type { Destination } from './target.ts';

/** How long a refused client may take to read the answer. */
const LINGER_MS = 2000;

/** Aborts when the client's socket is closed. */
export function clientClosedSignal(client: Socket): AbortSignal {
  const closed = new AbortController();
  client.once('close', () => closed.abort());
  client.on('error', () => closed.abort());
  return closed.signal;
}

/** Answers on a socket that node:http has detached; closes it once the client has read the answer, or after 2 s. */
export function answerSocket(client: Socket, refusal: ProxyRefusal, target: Destination | null): void {
  client.on('error', () => {});
  if (!client.writable) return void client.destroy();
  const timer = setTimeout(() => client.destroy(), LINGER_MS);
  client.once('close', () => clearTimeout(timer));
  client.end(refusalBytes(refusal, target, STATUS_CODES[REFUSALS[refusal.refused].status] ?? ''));
  client.once('end', () => client.destroy());
  // Unread bytes would turn the close into a reset, which can overtake the answer.
  client.resume();
}
