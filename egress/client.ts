import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REFUSALS } from '../contract/egress.ts';
import { type Refusal, refusalBytes } from './refusal.ts';
import type { Target } from './target.ts';

/** How long a refused client may take to read its answer. */
const LINGER_MS = 2000;

/** Aborts when the client's socket is closed. */
export function goneSignal(client: Socket): AbortSignal {
  const gone = new AbortController();
  client.once('close', () => gone.abort());
  client.on('error', () => gone.abort());
  return gone.signal;
}

/** Answers on a socket that node:http has let go of, and closes it once the client has read or taken too long. */
export function answerSocket(client: Socket, refusal: Refusal, target: Target | null): void {
  client.on('error', () => {});
  if (!client.writable) return void client.destroy();
  const late = setTimeout(() => client.destroy(), LINGER_MS);
  client.once('close', () => clearTimeout(late));
  client.end(refusalBytes(refusal, target, STATUS_CODES[REFUSALS[refusal.refused].status] ?? ''));
  client.once('end', () => client.destroy());
  // Bytes still under way would turn the close into a reset, which can overtake the answer.
  client.resume();
}
