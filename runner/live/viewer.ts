import { WebSocket } from 'ws';
import { type LiveRole, type ServerMessage, type ViewerMessage, viewerMessage } from '../../contract/live.ts';
import { LIVE_CLOSE, LIVE_LIMITS } from '../../contract/live-limits.ts';
import { parseJsonBody } from '../../http/json-body.ts';
import type { Clock } from '../../time/clock.ts';

/** The part of a socket that a viewer needs. */
export interface ViewerSocket {
  readonly readyState: number;
  /** Bytes that were sent and are not on their way yet. */
  readonly bufferedAmount: number;
  send(data: string | Uint8Array): void;
  close(code: number, reason: string): void;
  /** Ends it at once. */
  terminate(): void;
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown;
  on(event: 'error', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** One socket of a live view. */
export interface Viewer {
  readonly id: string;
  /** Identifies the person, on all of their sockets. */
  readonly identity: string;
  readonly name: string;
  readonly role: LiveRole;
  say(message: ServerMessage): void;
  /** Shows a picture, at once or when the viewer has acknowledged one; only the newest waits. */
  show(picture: Uint8Array): void;
  /** Closes it unless it has answered lately; asks for an answer otherwise. */
  ping(): void;
  close(code: number, reason: string): void;
  isClosed(): boolean;
}

export interface ViewerOptions {
  readonly id: string;
  /** Identifies the person, on all of their sockets. */
  readonly identity: string;
  readonly name: string;
  readonly role: LiveRole;
  readonly socket: ViewerSocket;
  readonly onMessage: (message: Exclude<ViewerMessage, { t: 'ack' | 'pong' }>) => void;
  readonly onClose: () => void;
  readonly clock: Clock;
}

/** A socket that does not take its own close message in this time is cut. */
const CLOSE_MS = 500;

export function liveViewer({ id, identity, name, role, socket, onMessage, onClose, clock }: ViewerOptions): Viewer {
  let credits: number = LIVE_LIMITS.credits;
  let newest: Uint8Array | undefined;
  let heardMs = clock.nowMs();
  let second = 0;
  let inputs = 0;

  function close(code: number, reason: string): void {
    socket.close(code, reason);
    setTimeout(() => socket.terminate(), CLOSE_MS).unref();
  }

  /** A viewer that acknowledges and does not read would fill the memory of the runner. */
  function mayReceive(): boolean {
    if (socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount <= LIVE_LIMITS.unreadBytesMax) return true;
    close(LIVE_CLOSE.silent, 'it does not read');
    return false;
  }

  const say = (message: ServerMessage) => {
    if (mayReceive()) socket.send(JSON.stringify(message));
  };

  function show(picture: Uint8Array): void {
    if (!mayReceive()) return;
    if (credits === 0) {
      newest = picture;
      return;
    }
    credits -= 1;
    newest = undefined;
    socket.send(picture);
  }

  function acknowledged(): void {
    credits = Math.min(LIVE_LIMITS.credits, credits + 1);
    if (newest !== undefined) show(newest);
  }

  /** Whether this one is above the limit of its second. */
  function isFlood(): boolean {
    const now = Math.floor(clock.nowMs() / 1_000);
    inputs = now === second ? inputs + 1 : 1;
    second = now;
    return inputs > LIVE_LIMITS.inputsPerSecond;
  }

  function read(data: unknown, isBinary: boolean): void {
    heardMs = clock.nowMs();
    const message = isBinary ? undefined : parseMessage(String(data));
    if (message === undefined) close(LIVE_CLOSE.badMessage, 'not a message of this protocol');
    else if (message.t === 'ack') acknowledged();
    else if (message.t === 'pong') return;
    else if (isFlood())
      close(LIVE_CLOSE.tooManyInputs, `more than ${LIVE_LIMITS.inputsPerSecond} messages in a second`);
    else onMessage(message);
  }

  socket.on('message', (data, isBinary) => {
    if (socket.readyState === WebSocket.OPEN) read(data, isBinary);
  });
  socket.on('error', () => socket.terminate());
  socket.once('close', onClose);
  return {
    id,
    identity,
    name,
    role,
    say,
    show,
    close,
    isClosed: () => socket.readyState !== WebSocket.OPEN,
    ping() {
      if (clock.nowMs() - heardMs > LIVE_LIMITS.silentSeconds * 1_000) close(LIVE_CLOSE.silent, 'no answer');
      else say({ t: 'ping' });
    },
  };
}

function parseMessage(text: string): ViewerMessage | undefined {
  try {
    return viewerMessage.safeParse(parseJsonBody(text)).data;
  } catch {
    return undefined;
  }
}
