import type { EventPage, SessionEvent } from '../../contract/session.ts';
import { callConsole, encodePath } from './api.ts';

const PAGE_SIZE = 200;

/** The events after those that are known; none is read twice. */
export async function newEvents(
  sessionId: string,
  known: readonly SessionEvent[],
  signal: AbortSignal,
): Promise<SessionEvent[]> {
  const events = [...known];
  for (;;) {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), cursor: events.at(-1)?.id ?? '0' });
    const page = await callConsole<EventPage>(
      'GET',
      `${encodePath`/browser-sessions/${sessionId}/events`}?${query}`,
      undefined,
      signal,
    );
    events.push(...page.events);
    if (page.next_cursor === null) return events;
  }
}
