import { APP_TOOLS } from '../../../contract/app-names.ts';
import type { ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import type { LiveExchangeAnswer, LiveSocketAnswer } from '../../../contract/live-exchange.ts';
import { LIVE_CLOSE } from '../../../contract/live-limits.ts';
import { decodePicture, type LivePicture } from '../../../contract/live-picture.ts';
import { type CallToolResult, failureOf } from './tool-result.ts';

/** How this page reaches the live view: by a socket, or, where its host allows none, by calls of tools. */
export interface Way {
  /** Drops what cannot be sent now: input that comes late does harm. */
  send(message: ViewerMessage): void;
  close(): void;
}

export interface WayOptions {
  readonly call: (name: string, args: Record<string, unknown>) => Promise<CallToolResult>;
  readonly onMessage: (message: ServerMessage) => void;
  /** Resolves when the picture is shown: the next one may come. */
  readonly onPicture: (picture: LivePicture) => Promise<void>;
  /** `by`: how the page is connected now. `why`: why it is not. */
  readonly onState: (state: WayState) => void;
}

export type WayState =
  | { readonly is: 'open'; readonly by: 'socket' | 'calls' }
  | { readonly is: 'connecting' | 'ended'; readonly why: string };

/** Callbacks of a connection: its messages, and its end. */
interface Line {
  say(message: ViewerMessage): void;
  close(): void;
}
interface LineEvents {
  readonly onText: (text: string) => void;
  readonly onBytes: (bytes: ArrayBuffer | Uint8Array) => void;
  readonly onClosed: (code: number, why: string) => void;
}

const WAIT_MS = 500;
const RETRY_MS = { first: 500, max: 10_000 } as const;
const LOST = 1006;

/** Opens the way, again and again until the lease ends. */
export function openWay({ call, onMessage, onPicture, onState }: WayOptions): Way {
  let line: Line | undefined;
  /** A socket that did not open is not tried again: the host's policy forbids it, or a proxy. */
  let isByCalls = false;
  let attempts = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  function read(by: 'socket' | 'calls', text: string): void {
    const message = JSON.parse(text) as ServerMessage; // the contract of the live view
    if (message.t === 'ping') line?.say({ t: 'pong' });
    if (message.t === 'hello') {
      attempts = 0;
      onState({ is: 'open', by });
    }
    onMessage(message);
  }

  function ended(why: string): void {
    isClosed = true;
    onState({ is: 'ended', why });
  }

  function lost(code: number, why: string): void {
    line = undefined;
    if (isClosed) return;
    if (code === LIVE_CLOSE.leaseEnded || code === LIVE_CLOSE.revoked) {
      ended(why);
      return;
    }
    onState({ is: 'connecting', why });
    const waitMs = Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** attempts);
    attempts += 1;
    timer = setTimeout(() => void open(), waitMs * (0.5 + Math.random() / 2));
  }

  async function open(): Promise<void> {
    const events = (by: 'socket' | 'calls'): LineEvents => ({
      onText: text => read(by, text),
      onBytes(bytes) {
        const picture = decodePicture(bytes);
        if (picture !== undefined) void onPicture(picture).then(() => line?.say({ t: 'ack', seq: picture.seq }));
      },
      onClosed: lost,
    });
    try {
      const socket = isByCalls ? null : (await answerOf<LiveSocketAnswer>(call, APP_TOOLS.socket, {})).socket;
      if (isClosed) return;
      line = socket === null ? undefined : await bySocket(socket, events('socket'));
      isByCalls = line === undefined;
      line ??= byCalls(call, events('calls'));
      if (isClosed) line.close();
    } catch (error) {
      if (error instanceof Ended) ended(error.message);
      else lost(LOST, error instanceof Error ? error.message : '');
    }
  }

  void open();
  return {
    send: message => line?.say(message),
    close() {
      isClosed = true;
      clearTimeout(timer);
      line?.close();
    },
  };
}

/** There is no browser any more. */
class Ended extends Error {}

/** The structure with which a tool answers. Throws `Ended`, or another error with a sentence. */
async function answerOf<Answer>(
  call: WayOptions['call'],
  name: string,
  args: Record<string, unknown>,
): Promise<Answer> {
  const result = await call(name, args);
  if (!result.isError) return result.structuredContent as Answer; // what the contract says of this tool
  const { code, message } = failureOf(result);
  throw code === 'lease_ended' ? new Ended(message) : new Error(message);
}

/** Undefined: the socket did not open. */
function bySocket(
  { url, protocols }: NonNullable<LiveSocketAnswer['socket']>,
  { onText, onBytes, onClosed }: LineEvents,
): Promise<Line | undefined> {
  const { promise, resolve } = Promise.withResolvers<Line | undefined>();
  let socket: WebSocket;
  try {
    socket = new WebSocket(url, [...protocols]);
  } catch {
    return Promise.resolve(undefined);
  }
  socket.binaryType = 'arraybuffer';
  const early: (string | ArrayBuffer)[] = [];
  const take = (data: string | ArrayBuffer) => (typeof data === 'string' ? onText(data) : onBytes(data));
  socket.onmessage = ({ data }) => early.push(data);
  // A socket that the host's policy forbids fails, and closes in some browsers only.
  socket.onerror = () => resolve(undefined);
  socket.onclose = () => resolve(undefined);
  socket.onopen = () => {
    socket.onerror = null;
    socket.onclose = ({ code, reason }) => onClosed(code, reason);
    resolve({
      say(message) {
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
      },
      close: () => socket.close(),
    });
    // Answers go out on the line, which its opener has from the next turn on.
    setTimeout(() => {
      socket.onmessage = ({ data }) => take(data);
      for (const data of early) take(data);
    });
  };
  return promise;
}

/** Two calls at a time: one that listens, one that says what there is to say. */
function byCalls(call: WayOptions['call'], { onText, onBytes, onClosed }: LineEvents): Line {
  let viewer: string | undefined;
  let toSay: ViewerMessage[] = [];
  let isSaying = false;
  let isOver = false;
  const exchange = (args: Record<string, unknown>) =>
    answerOf<LiveExchangeAnswer>(call, APP_TOOLS.exchange, { ...args, ...(viewer === undefined ? {} : { viewer }) });

  function over(code: number, why: string): void {
    if (isOver) return;
    isOver = true;
    onClosed(code, why);
  }
  const failed = (error: unknown) =>
    over(error instanceof Ended ? LIVE_CLOSE.leaseEnded : LOST, error instanceof Error ? error.message : '');

  async function listen(): Promise<void> {
    while (!isOver) {
      const answer = await exchange({ wait_ms: WAIT_MS });
      viewer = answer.viewer;
      if (isOver) return;
      for (const text of answer.messages) onText(text);
      for (const picture of answer.pictures) onBytes(Uint8Array.from(atob(picture), sign => sign.charCodeAt(0)));
      if (answer.closed !== null) over(answer.closed.code, answer.closed.reason);
    }
  }

  async function sayAll(): Promise<void> {
    if (isSaying) return;
    isSaying = true;
    while (toSay.length > 0 && !isOver) {
      const say = toSay;
      toSay = [];
      await exchange({ say });
    }
    isSaying = false;
  }

  setTimeout(() => void listen().catch(failed));
  return {
    say(message) {
      toSay.push(message);
      if (viewer !== undefined) void sayAll().catch(failed);
    },
    close() {
      isOver = true;
    },
  };
}
