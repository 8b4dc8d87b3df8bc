import { type RawData, WebSocket } from 'ws';
import type { ServerMessage, ViewerMessage } from '../../contract/live.ts';
import { decodePicture, type LivePicture } from '../../contract/live-picture.ts';
import type { PolledViewNews } from '../../contract/polled-view.ts';

/** A live view whose messages and last picture are kept for a page that asks. */
export interface PolledView {
  /** Resolves at once when there is something new, else when there is, or when the signal aborts. */
  news(after: number, picture: number, signal: AbortSignal): Promise<PolledViewNews>;
  /** The last picture, which counts as seen: the next one may come. */
  picture(): LivePicture | undefined;
  /** Sends what the viewer says of the picture of this number. */
  say(picture: number, messages: readonly ViewerMessage[]): void;
  close(): void;
}

/** Pictures that a press may still be about. */
const SHAPES_MAX = 64;

/** Messages that a page has not asked for yet; the runner waits with those that follow. */
const MESSAGES_MAX = 256;

const OTHER_TAB = 'The browser shows another tab, or another size of it, than the picture you pressed on. Look again.';

export function polledView(socket: WebSocket): PolledView {
  let messages: ServerMessage[] = [];
  /** Number of the first of `messages`. */
  let first = 0;
  let newest: LivePicture | undefined;
  let closed: PolledViewNews['closed'] = null;
  const unseen: number[] = [];
  const shapes = new Map<number, string>();
  let changed = Promise.withResolvers<void>();

  function change(): void {
    changed.resolve();
    changed = Promise.withResolvers();
  }

  function heard(message: ServerMessage): void {
    messages.push(message);
    if (messages.length >= MESSAGES_MAX) socket.pause();
    change();
  }

  function send(message: ViewerMessage): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  function show(picture: LivePicture): void {
    newest = picture;
    unseen.push(picture.seq);
    shapes.set(picture.seq, shapeOf(picture));
    for (const seq of shapes.keys()) if (shapes.size > SHAPES_MAX) shapes.delete(seq);
    change();
  }

  socket.on('message', (data: RawData, isBinary) => {
    if (isBinary) {
      const picture = decodePicture(data as Buffer); // as `ws` gives messages by default
      if (picture !== undefined) show(picture);
      return;
    }
    const message = JSON.parse(String(data)) as ServerMessage; // the contract of this subprotocol
    if (message.t === 'ping') send({ t: 'pong' });
    else heard(message);
  });
  socket.on('error', () => undefined); // its close follows
  socket.once('close', (code, reason) => {
    closed = { code, reason: String(reason) };
    change();
  });

  return {
    async news(after, picture, signal) {
      messages = messages.slice(Math.max(0, after - first)); // those before are known
      if (messages.length < MESSAGES_MAX) socket.resume();
      first = Math.max(first, after);
      const isNew = () => messages.length > 0 || closed !== null || (newest?.seq ?? -1) !== picture;
      const { promise: aborted, resolve } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => resolve(), { once: true });
      while (!isNew() && !signal.aborted) await Promise.race([changed.promise, aborted]);
      return { messages, next: first + messages.length, picture: newest?.seq ?? -1, closed };
    },
    picture() {
      for (const seq of unseen.splice(0)) send({ t: 'ack', seq });
      return newest;
    },
    say(picture, said) {
      for (const message of said) {
        const isPlace = message.t === 'mouse' || message.t === 'wheel' || message.t === 'touch';
        // A pressed button is released wherever the pointer is by then.
        const ends =
          (message.t === 'mouse' && message.kind === 'up') || (message.t === 'touch' && message.points.length === 0);
        if (!isPlace || ends || (newest !== undefined && shapes.get(picture) === shapeOf(newest))) send(message);
        else if (messages.length < MESSAGES_MAX) heard({ t: 'refused', why: 'failed', text: OTHER_TAB });
      }
    },
    close: () => socket.close(),
  };
}

const shapeOf = ({ tab, cssWidth, cssHeight }: LivePicture): string => `${tab} ${cssWidth}x${cssHeight}`;
