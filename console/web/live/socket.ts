import type { LiveRole, ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import { LIVE_CLOSE, LIVE_LIMITS, LIVE_PROTOCOL, liveTokenProtocol } from '../../../contract/live-limits.ts';
import { decodePicture, type LivePicture } from '../../../contract/live-picture.ts';
import { encodePath, signedOut } from '../api.ts';

/** The connection between this page and the browser. `retrying`: lost, and opened again by itself. */
export type LiveConnection =
  | { readonly is: 'connecting' | 'open' }
  | { readonly is: 'retrying'; readonly why: string }
  | { readonly is: 'ended'; readonly why: string };

export interface LiveSocket {
  /** Drops what cannot be sent now: input that comes late does harm. */
  send(message: ViewerMessage): void;
  close(): void;
}

/** Gets a live token for one connection. */
export type Admit = (signal: AbortSignal) => Promise<string>;

export interface LiveSocketOptions {
  readonly sessionId: string;
  readonly role: LiveRole;
  /** Without it the cookie of the sign-in admits. */
  readonly admit: Admit | undefined;
  readonly onMessage: (message: ServerMessage) => void;
  /** Resolves when the picture is shown: the next one may come. */
  readonly onPicture: (picture: LivePicture) => Promise<void>;
  readonly onConnection: (connection: LiveConnection) => void;
}

const NO_TOKEN = 'the page around this view has no live token for it';
const RETRY_MS = { first: 200, max: 5_000 } as const;
/** Two pings that did not come. */
const SILENT_MS = 2.25 * LIVE_LIMITS.pingSeconds * 1_000;

/** Whether the session has another lease, whose browser is shown then, is looked for this often. */
export const NEXT_LEASE_MS = 5_000;

/** Opens the live view of a session's browser, again and again until the sign-in ends. */
export function openLiveSocket(options: LiveSocketOptions): LiveSocket {
  const { sessionId, role, admit, onMessage, onPicture, onConnection } = options;
  const url = `${location.origin.replace(/^http/, 'ws')}/api${encodePath`/browser-sessions/${sessionId}`}/live?role=${role}`;
  let socket: WebSocket | undefined;
  let attempts = 0;
  /** The lease has ended: nothing else is sent until the next one has begun. */
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const closed = new AbortController();

  function send(message: ViewerMessage): void {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  async function open(): Promise<void> {
    if (!isOver) onConnection({ is: 'connecting' });
    const token = await admit?.(closed.signal);
    if (closed.signal.aborted) return;
    // Throws for a token that is none, such as the text of an error.
    const mine = new WebSocket(url, token === undefined ? LIVE_PROTOCOL : [LIVE_PROTOCOL, liveTokenProtocol(token)]);
    mine.binaryType = 'arraybuffer';
    socket = mine;
    mine.onmessage = ({ data }) => {
      if (socket !== mine) return;
      clearTimeout(timer);
      timer = setTimeout(() => lost(mine, 1006, ''), SILENT_MS);
      if (typeof data === 'string')
        read(JSON.parse(data) as ServerMessage); // the contract of this subprotocol
      else show(data as ArrayBuffer); // its binaryType
    };
    mine.onclose = ({ code, reason }) => lost(mine, code, reason);
  }

  function read(message: ServerMessage): void {
    if (message.t === 'ping') send({ t: 'pong' });
    if (message.t === 'hello') {
      attempts = 0;
      isOver = false;
      onConnection({ is: 'open' });
    }
    onMessage(message);
  }

  function show(data: ArrayBuffer): void {
    const picture = decodePicture(data);
    if (picture !== undefined) void onPicture(picture).then(() => send({ t: 'ack', seq: picture.seq }));
  }

  function lost(which: WebSocket, code: number, why: string): void {
    if (closed.signal.aborted || socket !== which) return;
    clearTimeout(timer);
    socket = undefined;
    which.close();
    if (code === LIVE_CLOSE.revoked && admit === undefined) signedOut.dispatchEvent(new Event('signed-out'));
    if (code === LIVE_CLOSE.revoked || code === LIVE_CLOSE.leaseEnded) onConnection({ is: 'ended', why });
    if (code === LIVE_CLOSE.revoked) return;
    isOver ||= code === LIVE_CLOSE.leaseEnded;
    retry(why);
  }

  function retry(why: string): void {
    if (isOver) {
      timer = setTimeout(start, NEXT_LEASE_MS);
      return;
    }
    onConnection({ is: 'retrying', why });
    const waitMs = Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** attempts);
    attempts += 1;
    timer = setTimeout(start, waitMs * (0.5 + Math.random() / 2));
  }

  function start(): void {
    open().catch(() => {
      if (!closed.signal.aborted) retry(NO_TOKEN);
    });
  }
  start();
  return {
    send,
    close() {
      closed.abort();
      clearTimeout(timer);
      socket?.close();
    },
  };
}
