import { EVENT_KINDS } from '../../../contract/event-kinds.ts';
import { code, page, table } from './table.ts';

/** docs/reference/events.md. */
export const eventsPage = (): string =>
  page(
    '`contract/event-kinds.ts`',
    'Events of a timeline',
    '`omicron-browser session show ID --events`, `listEvents` of the SDKs, or `GET /internal/browser-sessions/{session_id}/events`. Each event has `id`, `session_id`, `epoch`, `at`, `kind` and `data`. Secrets are removed before an event is written. A newer release may write more kinds and more fields: ignore those that you do not know.',
    [
      [
        'Kinds',
        table(
          ['kind', 'when, with the fields of `data`'],
          Object.entries(EVENT_KINDS).map(([kind, meaning]) => [code(kind), meaning]),
        ),
      ],
    ],
  );
