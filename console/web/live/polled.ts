import type { ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import { LIVE_CLOSE } from '../../../contract/live-limits.ts';
import { type LivePicture, PICTURE_HEADERS } from '../../../contract/live-picture.ts';
import type { PolledViewMessages, PolledViewNews, PolledViewOpened } from '../../../contract/polled-view.ts';
import { callConsole, encodePath } from '../api.ts';
import { messageOf } from '../use-polled.ts';
import { type LiveSocket, type LiveSocketOptions, NEXT_LEASE_MS } from './socket.ts';

const RETRY_MS = 2_000;

/** The live view without a WebSocket: asks for what is new, and sends what the person does by requests (A11). */
export function openPolledView({ sessionId, role, onMessage, onPicture, onConnection }: LiveSocketOptions): LiveSocket {
  const closed = new AbortController();
  const { signal } = closed;
  let view: string | undefined;
  let picture = -1;
  let waiting: ViewerMessage[] = [];
  let sending = false;

  function read(message: ServerMessage): void {
    if (message.t === 'hello') onConnection({ is: 'open' });
    onMessage(message);
  }

  /** Until the view is closed. */
  async function follow(id: string): Promise<NonNullable<PolledViewNews['closed']>> {
    let after = 0;
    for (;;) {
      const query = new URLSearchParams({ after: String(after), picture: String(picture) });
      const news = await callConsole<PolledViewNews>(
        'GET',
        `${encodePath`/polled-views/${id}`}?${query}`,
        undefined,
        signal,
      );
      news.messages.forEach(read);
      after = news.next;
      if (news.closed !== null) return news.closed;
      if (news.picture === picture) continue;
      const seen = await readPicture(id, signal);
      if (seen === undefined) continue;
      picture = seen.seq;
      await onPicture(seen);
    }
  }

  async function run(): Promise<void> {
    /** The lease has ended: nothing else is sent until the next one has begun. */
    let isOver = false;
    while (!signal.aborted) {
      if (!isOver) onConnection({ is: 'connecting' });
      picture = -1;
      let why = '';
      try {
        const at = encodePath`/browser-sessions/${sessionId}/polled-views`;
        ({ view } = await callConsole<PolledViewOpened>('POST', at, { role }, signal));
        isOver = false;
        const { code, reason } = await follow(view);
        isOver = code === LIVE_CLOSE.leaseEnded;
        if (isOver) onConnection({ is: 'ended', why: reason });
        why = reason;
      } catch (error) {
        if (signal.aborted) return;
        why = messageOf(error);
      }
      view = undefined;
      if (!isOver) onConnection({ is: 'retrying', why });
      await new Promise(resolve => setTimeout(resolve, isOver ? NEXT_LEASE_MS : RETRY_MS));
    }
  }

  /** In order: one request at a time, with all that came meanwhile. */
  async function flush(): Promise<void> {
    if (sending) return;
    sending = true;
    while (waiting.length > 0 && view !== undefined) {
      const body: PolledViewMessages = { picture, messages: waiting.splice(0, 200) };
      await callConsole('POST', encodePath`/polled-views/${view}/messages`, body).catch(() => undefined); // late input does harm
    }
    waiting = [];
    sending = false;
  }

  void run();
  return {
    send(message) {
      waiting.push(message);
      void flush();
    },
    close() {
      closed.abort();
      if (view !== undefined) void callConsole('DELETE', encodePath`/polled-views/${view}`).catch(() => undefined);
    },
  };
}

async function readPicture(view: string, signal: AbortSignal): Promise<LivePicture | undefined> {
  const answer = await fetch(`/api${encodePath`/polled-views/${view}/picture`}`, { signal });
  if (answer.status !== 200) return undefined;
  const number = (name: string) => Number(answer.headers.get(name));
  return {
    kind: 'screencast',
    seq: Number(answer.headers.get('etag')?.replaceAll('"', '')),
    atMs: Date.now(),
    tab: number(PICTURE_HEADERS.tab),
    cssWidth: number(PICTURE_HEADERS.width),
    cssHeight: number(PICTURE_HEADERS.height),
    jpeg: new Uint8Array(await answer.arrayBuffer()),
  };
}
