import { useLayoutEffect, useRef } from 'preact/hooks';
import type { FleetCounts } from '../../../contract/fleet.ts';
import type { Session, SessionPage } from '../../../contract/session.ts';
import { SESSION_STATES } from '../../../contract/states.ts';
import { callConsole } from '../api.ts';
import { go } from '../location.ts';
import { Empty, Failure, Loading } from '../notices.tsx';
import { Status } from '../status.tsx';
import { dayAndTime, formatRelative } from '../time.ts';
import { usePolled } from '../use-polled.ts';
import { whyEnded } from '../words.ts';

const POLL_MS = 2_000;
const FILTERS = ['user_id', 'status', 'tag', 'archived', 'cursor'] as const;

/** All sessions, newest first, narrowed by the address's query. */
export function SessionsPage({ url }: { url: URL }) {
  const filter = (name: (typeof FILTERS)[number]) => url.searchParams.get(name) ?? '';
  const query = new URLSearchParams(FILTERS.flatMap(name => (filter(name) === '' ? [] : [[name, filter(name)]])));
  const sessions = usePolled(`sessions?${query}`, POLL_MS, signal =>
    callConsole<SessionPage>('GET', `/browser-sessions?${query}`, undefined, signal),
  );
  const isFiltered = query.size > 0;
  const page = sessions.value;
  return (
    <>
      <h1>Sessions</h1>
      <Counts />
      <Filters filter={filter} />
      <Failure text={sessions.error} />
      {!page && !sessions.error && <Loading what="sessions" />}
      {page?.sessions.length === 0 &&
        (isFiltered ? (
          <Empty title="No session matches">
            <p>
              Change the filters, or <a href="/">show all sessions</a>.
            </p>
          </Empty>
        ) : (
          <Empty title="No sessions yet">
            <p>A session appears here when an agent gets its browser. Start one in the folder of the stack:</p>
            <pre>npx --no-install omicron-browser session start --user ada --conversation chat-1</pre>
          </Empty>
        ))}
      {page && page.sessions.length > 0 && <SessionTable sessions={page.sessions} />}
      <p class="pages">
        {filter('cursor') !== '' && <a href={`/?${withoutParameter(query, 'cursor')}`}>Newest sessions</a>}
        {page?.next_cursor != null && (
          <a href={`/?${new URLSearchParams([...withoutParameter(query, 'cursor'), ['cursor', page.next_cursor]])}`}>
            Older sessions
          </a>
        )}
      </p>
    </>
  );
}

function withoutParameter(query: URLSearchParams, name: string): URLSearchParams {
  const rest = new URLSearchParams(query);
  rest.delete(name);
  return rest;
}

/** How much of the deployment is in use now. */
function Counts() {
  const { value } = usePolled('fleet', POLL_MS, signal => callConsole<FleetCounts>('GET', '/fleet', undefined, signal));
  const count = (title: string, number: number | undefined) => (
    <div>
      <dt>{title}</dt>
      <dd>{number ?? '–'}</dd>
    </div>
  );
  return (
    <dl class="counts">
      {count('Live leases', value?.active_sessions)}
      {count('Starting', value?.starting_sessions)}
      {count('Warm runners', value?.runners.warm)}
      {count('Capacity', value?.capacity)}
    </dl>
  );
}

function Filters({ filter }: { filter: (name: (typeof FILTERS)[number]) => string }) {
  const apply = (form: HTMLFormElement) => {
    const chosen = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
    const query = new URLSearchParams(chosen.filter(([, value]) => value !== ''));
    go(query.size > 0 ? `/?${query}` : '/');
  };
  return (
    <form
      class="filters"
      aria-label="Filters"
      onSubmit={event => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
      onChange={event => apply(event.currentTarget)}
    >
      <TextFilter label="User" name="user_id" applied={filter('user_id')} />
      <label>
        Status
        <select name="status" value={filter('status')}>
          <option value="">Any</option>
          {SESSION_STATES.map(state => (
            <option value={state}>{state}</option>
          ))}
        </select>
      </label>
      <TextFilter label="Tag" name="tag" applied={filter('tag')} placeholder="key:value" />
      <label class="check">
        <input type="checkbox" name="archived" value="true" checked={filter('archived') === 'true'} />
        Archived too
      </label>
      <button type="submit">Apply</button>
    </form>
  );
}

/** Shows what is applied whenever that changes. Typed text stays while the page loads on: a `value` would take it back. */
function TextFilter(props: { label: string; name: string; applied: string; placeholder?: string }) {
  const { label, name, applied, placeholder } = props;
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current) field.current.value = applied;
  }, [applied]);
  return (
    <label>
      {label}
      <input ref={field} name={name} placeholder={placeholder} autocomplete="off" />
    </label>
  );
}

function SessionTable({ sessions }: { sessions: readonly Session[] }) {
  const nowMs = Date.now();
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">Conversation</th>
          <th scope="col">User</th>
          <th scope="col">Status</th>
          <th scope="col">Tags</th>
          <th scope="col">Last used</th>
        </tr>
      </thead>
      <tbody>
        {sessions.map(session => (
          <tr key={session.session_id}>
            <th scope="row">
              <a href={`/sessions/${session.session_id}`}>{session.conversation_id}</a>
            </th>
            <td data-title="User">{session.user_id}</td>
            <td data-title="Status">
              <Status session={session} />
              <div class="muted">
                {isLive(session) ? `expires ${formatRelative(session.expires_at, nowMs)}` : whyEnded(session)}
              </div>
            </td>
            <td data-title="Tags">
              {Object.entries(session.tags).map(([name, value]) => (
                <a class="tag" href={`/?${new URLSearchParams({ tag: `${name}:${value}` })}`}>
                  {name}:{value}
                </a>
              ))}
            </td>
            <td data-title="Last used">
              <time dateTime={session.last_used_at} title={dayAndTime(session.last_used_at)}>
                {formatRelative(session.last_used_at, nowMs)}
              </time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const isLive = ({ status }: Session): boolean => status === 'ready' || status === 'starting';
