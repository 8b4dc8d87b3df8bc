import { useState } from 'preact/hooks';
import type { Artifact, SessionEvent } from '../../contract/session.ts';
import { newEvents } from './events.ts';
import { PictureAfterCall } from './kept-pages.tsx';
import { Failure, Loading } from './notices.tsx';
import { dayAndTime, timeOfDay } from './time.ts';
import { usePolled } from './use-polled.ts';
import { codeOf, EVENT_GROUPS, type EventGroup, eventLine, eventTitle } from './words.ts';

const POLL_MS = 1_500;
/** The session's timeline, newest first; it grows while the session is used. */
export function Timeline({ sessionId, artifacts }: { sessionId: string; artifacts: readonly Artifact[] }) {
  const [group, setGroup] = useState<EventGroup>('all');
  const [code, setCode] = useState('');
  const events = usePolled<SessionEvent[]>(`events ${sessionId}`, POLL_MS, (signal, known) =>
    newEvents(sessionId, known ?? [], signal),
  );
  if (!events.value) return events.error ? <Failure text={events.error} /> : <Loading what="the timeline" />;
  const groups = Object.entries(EVENT_GROUPS) as [EventGroup, (typeof EVENT_GROUPS)[EventGroup]][]; // keys of a literal
  const inGroup = events.value.filter(({ kind }) => EVENT_GROUPS[group].has(kind));
  const codes = [...new Set(events.value.flatMap(event => codeOf(event) ?? []))].sort();
  const shown = inGroup.filter(event => code === '' || codeOf(event) === code).reverse();
  return (
    <>
      <Failure text={events.error} />
      <fieldset class="choices">
        <legend class="unseen">Events to show</legend>
        {groups.map(([name, { title, has }]) => (
          <label>
            <input type="radio" name="events" checked={group === name} onChange={() => setGroup(name)} />
            {title} <span class="muted">{events.value?.filter(({ kind }) => has(kind)).length}</span>
          </label>
        ))}
        {codes.length > 0 && (
          <select
            aria-label="Code of the events"
            value={code}
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
          >
            <option value="">Any code</option>
            {codes.map(each => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        )}
      </fieldset>
      {shown.length === 0 && <p class="muted">No event of this kind yet.</p>}
      <ol class="timeline" aria-label="Events, newest first">
        {shown.map(event => (
          <li key={event.id} class={toneOf(event)}>
            <time dateTime={event.at} title={dayAndTime(event.at)}>
              {timeOfDay(event.at)}
            </time>
            <span class="kind">{eventTitle(event)}</span>
            <span class="long">{eventLine(event)}</span>
            <PictureAfterCall artifacts={artifacts} epoch={event.epoch} name={event.data.picture} />
          </li>
        ))}
      </ol>
    </>
  );
}

const toneOf = ({ kind, data }: SessionEvent): string =>
  kind === 'egress.denied' ||
  kind === 'session.error' ||
  kind.endsWith('crashed') ||
  data.outcome === 'error' ||
  data.outcome === 'blocked'
    ? 'bad'
    : '';
