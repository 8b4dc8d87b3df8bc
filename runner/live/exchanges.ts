import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { LiveTokenClaims } from '../../contract/live.ts';
import { type LiveExchangeAnswer, liveExchange } from '../../contract/live-exchange.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import type { LiveView } from './live-view.ts';
import type { ViewerSocket } from './viewer.ts';

/** Viewers that call in place of opening a socket. */
export interface Exchanges {
  /** Hands over what the viewer says, and answers what it was sent since. Undefined: this viewer is not known any more. Throws a `ZodError`. */
  exchange(given: unknown, signal: AbortSignal): Promise<LiveExchangeAnswer | undefined>;
}

export interface ExchangesOptions {
  readonly live: Pick<LiveView, 'connect'>;
  /** The viewer. */
  readonly claims: Pick<LiveTokenClaims, 'viewer' | 'viewer_id' | 'role'>;
  readonly clock: Clock;
}

/** A viewer that does not call is closed by the live view, as a silent socket is; its calls get that answer for this long. */
const CLOSED_MS = 60_000;

export function liveExchanges({ live, claims, clock }: ExchangesOptions): Exchanges {
  const mailboxes = new Map<string, Mailbox>();

  function open(): string {
    const viewer = randomUUID();
    const mailbox = new Mailbox();
    mailboxes.set(viewer, mailbox);
    mailbox.once('close', () => {
      void clock.sleep(CLOSED_MS, neverAborts(), true).then(() => mailboxes.delete(viewer));
    });
    live.connect(mailbox, claims);
    return viewer;
  }

  return {
    async exchange(given, signal) {
      const { viewer = open(), say, wait_ms } = liveExchange.parse(given);
      const mailbox = mailboxes.get(viewer);
      if (mailbox === undefined) return undefined;
      for (const message of say) mailbox.emit('message', JSON.stringify(message), false);
      if (wait_ms === undefined) return { viewer, messages: [], pictures: [], closed: null };
      if (wait_ms > 0) await Promise.race([mailbox.news(), clock.sleep(wait_ms, signal, true)]);
      return { viewer, ...mailbox.take() };
    },
  };
}

const OPEN = 1;
const CLOSED = 3;

/** The socket of a viewer that calls: keeps what it is sent until it is taken. */
class Mailbox extends EventEmitter implements ViewerSocket {
  readyState: number = OPEN;
  #messages: string[] = [];
  #pictures: string[] = [];
  bufferedAmount = 0;
  #closed: LiveExchangeAnswer['closed'] = null;
  #news = Promise.withResolvers<void>();

  send(data: string | Uint8Array): void {
    if (typeof data === 'string') this.#messages.push(data);
    else this.#pictures.push(Buffer.from(data).toString('base64'));
    this.bufferedAmount += data.length;
    this.#news.resolve();
  }

  close(code: number, reason: string): void {
    this.#closed ??= { code, reason };
    this.terminate();
  }

  terminate(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.#news.resolve();
    this.emit('close');
  }

  /** Resolves when there is something to take. */
  news(): Promise<void> {
    return this.#news.promise;
  }

  take(): Omit<LiveExchangeAnswer, 'viewer'> {
    const taken = { messages: this.#messages, pictures: this.#pictures, closed: this.#closed };
    this.#messages = [];
    this.#pictures = [];
    this.bufferedAmount = 0;
    if (this.readyState === OPEN) this.#news = Promise.withResolvers<void>();
    return taken;
  }
}
