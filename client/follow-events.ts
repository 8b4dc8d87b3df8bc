import type { EventKind } from '../contract/event-kinds.ts';
import { FIRST_PLACE, LAST_EVENT_ID, type StreamedEvent, streamedEvent } from '../contract/event-stream.ts';
import { OmicronError } from '../contract/problem.ts';
import { parseProblem } from '../http/problem-client.ts';
import type { Clock } from '../time/clock.ts';
import { type Connection, callTokens, controllerPeer } from './controller-api.ts';
import { mayRetry, waitMs } from './retry.ts';

export interface FollowRequest {
  userId?: string | undefined;
  sessionId?: string | undefined;
  /** Kinds of events, e.g. `tool.call`; all unless given. */
  kinds?: readonly EventKind[] | undefined;
  /** The `id` of the last event that was handled, or `start`: all events that are kept. Unless given, those from now on. */
  after?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The controller pings each 20 s; a connection that is silent for longer is lost. */
const SILENT_MS = 65_000;

/**
 * Events as they come, each once and in order. A connection that ends is opened again, after the last event; while no controller
 * answers it is tried again without end. Throws OmicronError for a request that is refused, and what `signal` aborts with.
 */
export async function* followEvents(
  connection: Connection,
  fetch: typeof globalThis.fetch,
  clock: Clock,
  { userId, sessionId, kinds = [], after, signal = new AbortController().signal }: FollowRequest,
): AsyncGenerator<StreamedEvent, void> {
  const query = new URLSearchParams();
  if (userId !== undefined) query.set('user_id', userId);
  if (sessionId !== undefined) query.set('session_id', sessionId);
  for (const kind of kinds) query.append('kind', kind);
  const url = `${connection.url.replace(/\/+$/, '')}/internal/events?${query}`;
  const open = openStream(connection, fetch, url, userId);
  let last = after === 'start' ? FIRST_PLACE : after;
  for (let failures = 0; ; ) {
    const closed = new AbortController();
    try {
      const response = await open(last, AbortSignal.any([signal, closed.signal]));
      for await (const event of eventsOf(response, () => closed.abort())) {
        failures = 0;
        last = event.id;
        yield event;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OmicronError && !mayRetry(error)) throw error;
    } finally {
      closed.abort(); // its reader may have left
    }
    const lost = new OmicronError('controller_unreachable', 'The stream of events ended.');
    await clock.sleep(waitMs(lost, failures, clock), signal);
    failures += 1;
  }
}

/** Opens the stream after an event. Throws OmicronError. */
function openStream(connection: Connection, fetch: typeof globalThis.fetch, url: string, userId: string | undefined) {
  const tokenFor = callTokens(connection);
  const peer = controllerPeer(connection);
  return async (last: string | undefined, signal: AbortSignal): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${await tokenFor(userId)}`,
      accept: 'text/event-stream, application/problem+json',
      ...(last === undefined ? {} : { [LAST_EVENT_ID]: last }),
    };
    const response = await fetch(url, { headers, redirect: 'error', signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new OmicronError('controller_unreachable', `The controller could not be reached at ${peer.url}.`, {
        cause,
      });
    });
    if (response.ok) return response;
    const retryAfter = response.headers.get('retry-after') ?? undefined;
    throw parseProblem(peer, peer.url, { status: response.status, retryAfter, text: await response.text() });
  };
}

/** Whole events of a stream; one that breaks off in the middle is sent again. */
async function* eventsOf(response: Response, onSilent: () => void): AsyncGenerator<StreamedEvent, void> {
  let timer = setTimeout(onSilent, SILENT_MS);
  try {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      clearTimeout(timer);
      timer = setTimeout(onSilent, SILENT_MS);
      const blocks = `${text}${chunk}`.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data !== undefined) yield streamedEvent.parse(JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}
