import * as z from 'zod';
import { messageReader, type PipeMessage } from './pipe-messages.ts';
import { popupRate } from './popup-rate.ts';
import { type Rate, type TokenBucket, tokenBucket } from './rate.ts';

/** How much one tab may say over the DevTools pipe before it is stopped, and how long one message may be. */
export interface GateLimits {
  /** An event, or an answer to Playwright: a long body of a response, a picture of a tall page. */
  readonly messageBytesMax: number;
  /** The answer of a script that was evaluated in a page; more than an agent is shown of it. */
  readonly scriptBytesMax: number;
  /** Events of a tab of any kind. Each 4 KiB count as one, of what a page writes to its console each KiB. */
  readonly events: Rate;
  /** Those on which nothing depends (console lines, exceptions, frames of sockets): more is dropped. */
  readonly chatter: Rate;
  /** Tabs that pages open, for a tab and all that come from it. */
  readonly popups: Rate;
}

/** A heavy page sends some 5,000 events while it loads; a page that floods sends as many each second. */
export const GATE_LIMITS: GateLimits = {
  messageBytesMax: 32 * 1024 * 1024,
  scriptBytesMax: 16 * 1024 * 1024,
  events: { burst: 20_000, perSecond: 1_000 },
  chatter: { burst: 1_000, perSecond: 100 },
  popups: { burst: 50, perSecond: 1 },
};

interface Target {
  readonly id: string;
  readonly type: string;
}

export interface GateListener {
  /** A tab, or a worker of no tab, sent too much: nothing more of it is passed on. Called once. */
  onFlood(target: Target): void;
  /** A tab, or one that it opened, opens tabs too fast. Called for each tab too many. */
  onPopup(popup: { id: string; openerId: string }): void;
  onDownload(event: DownloadEvent): void;
}

export const downloadEvent = z.discriminatedUnion('method', [
  z.object({
    method: z.literal('Browser.downloadWillBegin'),
    params: z.object({ guid: z.string(), url: z.string() }),
  }),
  z.object({
    method: z.literal('Browser.downloadProgress'),
    params: z.object({ guid: z.string(), totalBytes: z.number(), receivedBytes: z.number(), state: z.string() }),
  }),
]);
export type DownloadEvent = z.infer<typeof downloadEvent>;

const attached = z.object({
  params: z.object({
    sessionId: z.string(),
    targetInfo: z.object({ targetId: z.string(), type: z.string(), openerId: z.string().optional() }),
  }),
  sessionId: z.string().optional(),
});
const detached = z.object({ params: z.object({ sessionId: z.string() }) });

/** Lines of the console: Chromium's main process spends the most on these. */
const LINES: ReadonlySet<string> = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded']);
/** Nothing in Playwright waits for these. */
const CHATTER: ReadonlySet<string> = new Set([
  ...LINES,
  'Audits.issueAdded',
  'Network.dataReceived',
  'Network.eventSourceMessageReceived',
  'Network.webSocketFrameSent',
  'Network.webSocketFrameReceived',
  'Network.webSocketFrameError',
]);
/** The recorder's pictures are asked for one by one, and a closed socket of the network costs nothing. */
const FREE: ReadonlySet<string> = new Set(['Page.screencastFrame', 'Network.dataReceived']);
/** Without these the end of a tab would not be noticed. */
const ENDINGS = /^(?:Inspector|Target)\./;

const METHOD = /^\{"method":"([A-Za-z]+\.[A-Za-z]+)"/;
const ID = /^\{"id":(\d+),/;
const SESSION = /,"sessionId":"([0-9A-F]+)"\}$/;
/** Evaluated in a page, by whatever command. */
const SCRIPT_ANSWER = /^\{"id":\d+,"result":\{"result":\{"type":"/;
const EVENT_BYTES = 4_096;
const LINE_BYTES = 1_024;
const CHATTER_BYTES_MAX = 256 * 1024;

interface Session {
  readonly targetId: string;
  readonly type: string;
  readonly parent: string | undefined;
}

interface Sender {
  readonly events: TokenBucket;
  readonly chatter: TokenBucket;
  readonly type: string;
  /** Sent in all. */
  bytes: number;
  stopped: boolean;
}

export interface EventGate {
  /** Passes on what may pass of what Chromium wrote, message by message, each with its final NUL. */
  read(chunk: Buffer, pass: (message: Buffer) => void): void;
  /** Passes nothing more of the tab, or worker of no tab, that has sent the most; undefined: there is none. */
  stopLoudest(): Target | undefined;
}

/**
 * Stands between Chromium and Playwright, on the pipe between them. A page's flood is dropped here, before it is parsed:
 * Playwright handles some thousands of events a second, and what it does not take in time piles up in
 * Chromium's main process and in this one.
 */
export function eventGate(listener: GateListener, nowMs: () => number, limits: GateLimits = GATE_LIMITS): EventGate {
  const sessions = new Map<string, Session>();
  const senders = new Map<string, Sender>();
  /** Playwright awaits no answer to these any more, and fails at one. */
  const crashed = new Set<string>();
  const popups = popupRate(limits.popups, nowMs);
  const bytesMaxOf = (head: string) => (SCRIPT_ANSWER.test(head) ? limits.scriptBytesMax : limits.messageBytesMax);
  const messages = messageReader(Math.min(limits.scriptBytesMax, limits.messageBytesMax), bytesMaxOf);

  const senderOf = (sessionId: string | undefined): { sender: Sender; session: Session } | undefined => {
    let session = sessionId === undefined ? undefined : (sessions.get(sessionId) ?? unknownSession(sessionId));
    for (let above = session; above !== undefined && above.type !== 'browser'; ) {
      session = above;
      above = above.parent === undefined ? undefined : sessions.get(above.parent);
    }
    if (session === undefined || session.type === 'browser') return undefined;
    let sender = senders.get(session.targetId);
    if (sender === undefined) {
      const [events, chatter] = [tokenBucket(limits.events, nowMs), tokenBucket(limits.chatter, nowMs)];
      sender = { events, chatter, type: session.type, bytes: 0, stopped: false };
      senders.set(session.targetId, sender);
    }
    return { sender, session };
  };

  const forget = (sessionId: string) => {
    const gone = sessions.get(sessionId);
    sessions.delete(sessionId);
    crashed.delete(sessionId);
    if (gone === undefined || [...sessions.values()].some(({ targetId }) => targetId === gone.targetId)) return;
    senders.delete(gone.targetId);
    popups.closed(gone.targetId);
  };

  function attach({ params: { sessionId, targetInfo }, sessionId: parent }: z.infer<typeof attached>): void {
    const { targetId: id, type, openerId } = targetInfo;
    const isNew = ![...sessions.values()].some(({ targetId }) => targetId === id);
    sessions.set(sessionId, { targetId: id, type, parent });
    if (isNew && openerId !== undefined && !popups.opened(id, openerId)) listener.onPopup({ id, openerId });
  }

  /** Messages that the gate itself reads. */
  function note(method: string, sessionId: string | undefined, message: Buffer): void {
    if (method === 'Inspector.targetCrashed' && sessionId !== undefined) crashed.add(sessionId);
    if (method === 'Target.attachedToTarget') {
      const { data } = attached.safeParse(parse(message));
      if (data) attach(data);
    } else if (method === 'Target.detachedFromTarget') {
      const { data } = detached.safeParse(parse(message));
      if (data) forget(data.params.sessionId);
    } else if (method === 'Browser.downloadWillBegin' || method === 'Browser.downloadProgress') {
      const { data } = downloadEvent.safeParse(parse(message));
      if (data) listener.onDownload(data);
    }
  }

  function mayPass(method: string, sessionId: string | undefined, bytes: number): boolean {
    const from = senderOf(sessionId);
    if (from === undefined || method === 'Page.screencastFrame') return true;
    const { sender, session } = from;
    const ends = ENDINGS.test(method);
    if (sender.stopped) return ends;
    const cost = 1 + Math.floor(bytes / (LINES.has(method) ? LINE_BYTES : EVENT_BYTES));
    if (!FREE.has(method) && !sender.events.take(cost)) {
      sender.stopped = true;
      listener.onFlood({ id: session.targetId, type: session.type });
      return ends;
    }
    return !CHATTER.has(method) || (bytes <= CHATTER_BYTES_MAX && sender.chatter.take(cost));
  }

  return {
    read: (chunk, pass) =>
      messages(chunk, message => {
        const { head, tail, bytes, whole } = message;
        const method = METHOD.exec(head)?.[1];
        const sessionId = SESSION.exec(tail)?.[1];
        const from = senderOf(sessionId);
        if (from !== undefined && (method === undefined || !FREE.has(method))) from.sender.bytes += bytes;
        if (method === undefined) {
          if (sessionId !== undefined && crashed.has(sessionId)) return;
          const answer = whole ?? tooLong(message, bytesMaxOf(head));
          if (answer !== undefined) pass(answer);
          return;
        }
        const passes = mayPass(method, sessionId, bytes);
        if (whole === undefined) return;
        note(method, sessionId, whole);
        if (passes) pass(whole);
      }),
    stopLoudest() {
      const [loudest] = [...senders].filter(([, { stopped }]) => !stopped).sort(([, a], [, b]) => b.bytes - a.bytes);
      if (loudest === undefined) return undefined;
      const [id, sender] = loudest;
      sender.stopped = true;
      return { id, type: sender.type };
    },
  };
}

const parse = (message: Buffer): unknown => JSON.parse(message.toString('utf8', 0, message.length - 1));

/** A message whose beginning was too long to be kept has a limit too. */
const unknownSession = (sessionId: string): Session => ({ targetId: sessionId, type: 'unknown', parent: undefined });

/**
 * The answer in place of one that is too long: the script's own error, as Chromium would report it, or an error of the
 * command. Undefined: it answers nothing.
 */
function tooLong({ head, tail }: PipeMessage, bytesMax: number): Buffer | undefined {
  const id = ID.exec(head)?.[1];
  if (id === undefined) return undefined;
  const sessionId = SESSION.exec(tail)?.[1];
  const mib = bytesMax / 1024 / 1024;
  const outcome = SCRIPT_ANSWER.test(head)
    ? { result: scriptError(`Error: The script's answer is longer than ${mib} MiB; return less.`) }
    : { error: { code: -32_000, message: `The answer is longer than ${mib} MiB; ask for less of the page.` } };
  return Buffer.from(`${JSON.stringify({ id: Number(id), ...outcome, ...(sessionId ? { sessionId } : {}) })}\0`);
}

/** <https://chromedevtools.github.io/devtools-protocol/tot/Runtime/#type-ExceptionDetails> */
function scriptError(description: string) {
  const exception = { type: 'object', subtype: 'error', className: 'Error', description };
  return {
    result: exception,
    exceptionDetails: { exceptionId: 0, text: 'Uncaught', lineNumber: 0, columnNumber: 0, exception },
  };
}
