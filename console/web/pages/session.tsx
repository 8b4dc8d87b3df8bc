import { useRef, useState } from 'preact/hooks';
import type { Artifact, Session } from '../../../contract/session.ts';
import type { PendingUserActionList } from '../../../contract/user-action.ts';
import { callConsole, encodePath } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { LastPage } from '../kept-pages.tsx';
import { LiveBrowser } from '../live/live-view.tsx';
import { useMay } from '../me.ts';
import { Failure, Loading, Success } from '../notices.tsx';
import { Request } from '../request.tsx';
import { Status } from '../status.tsx';
import { dayAndTime, formatMegabytes, formatRelative, timeOfDay } from '../time.ts';
import { Timeline } from '../timeline.tsx';
import { messageOf, type Polled, usePolled } from '../use-polled.ts';
import { stateHint, whyEnded } from '../words.ts';

const POLL_MS = 1_500;

/** One session: its lease, what waits for a person, its timeline and its artifacts. */
export function SessionDetail({
  id,
  requests,
}: {
  id: string;
  requests: Polled<PendingUserActionList['user_actions']>;
}) {
  const session = usePolled(`session ${id}`, POLL_MS, signal =>
    callConsole<Session>('GET', encodePath`/browser-sessions/${id}`, undefined, signal),
  );
  const artifacts = usePolled(`artifacts ${id}`, 5_000, async signal => {
    const at = encodePath`/browser-sessions/${id}/artifacts`;
    return (await callConsole<{ artifacts: Artifact[] }>('GET', at, undefined, signal)).artifacts;
  });
  const mayAct = useMay('operator');
  const row = session.value;
  if (!row)
    return (
      <>
        <h1>Session</h1>
        <Failure text={session.error} />
        {session.error === undefined ? (
          <Loading what="the session" />
        ) : (
          <p>
            <a href="/">All sessions</a>
          </p>
        )}
      </>
    );
  const waiting = requests.value?.filter(each => each.session_id === id) ?? [];
  return (
    <>
      <p class="trail">
        <a href="/">Sessions</a> / <a href={`/?${new URLSearchParams({ user_id: row.user_id })}`}>{row.user_id}</a>
      </p>
      <h1>
        {row.conversation_id} <Status session={row} />
      </h1>
      <Failure text={session.error} />
      <div class="session">
        <div>
          <Use session={row} waiting={waiting} refresh={requests.refresh} />
          {!isLive(row) && <LastPage artifacts={artifacts.value ?? []} />}
          <Facts session={row} />
          {mayAct && <Actions session={row} onDone={session.refresh} />}
          <h2>Artifacts</h2>
          <Artifacts session={row} artifacts={artifacts} />
        </div>
        <section class="beside" aria-labelledby="timeline">
          <h2 id="timeline">Timeline</h2>
          <Timeline sessionId={id} artifacts={artifacts.value ?? []} />
        </section>
      </div>
    </>
  );
}

/** The browser while it runs, under what its agent asks for. An answer hands control back: the agent goes on. */
function Use(props: { session: Session; waiting: PendingUserActionList['user_actions']; refresh: () => void }) {
  const { session, waiting, refresh } = props;
  const handBack = useRef<() => void>(undefined);
  const mayAct = useMay('operator');
  return (
    <>
      {waiting.map(request => (
        <Request
          key={request.id}
          request={request}
          onAnswered={() => {
            handBack.current?.();
            refresh();
          }}
        />
      ))}
      {session.status === 'ready' && (
        <LiveBrowser
          key={session.epoch}
          sessionId={session.session_id}
          liveRole={mayAct ? 'control' : 'view'}
          onAsk={refresh}
          onControl={back => {
            handBack.current = back;
          }}
        />
      )}
    </>
  );
}

const isLive = ({ status }: Session): boolean => status === 'ready' || status === 'starting';

function Facts({ session }: { session: Session }) {
  const nowMs = Date.now();
  const reason = whyEnded(session);
  const at = (iso: string) => (
    <time dateTime={iso} title={dayAndTime(iso)}>
      {formatRelative(iso, nowMs)}
    </time>
  );
  return (
    <dl class="facts">
      {reason !== null && (
        <div class={session.error === null ? 'wide' : 'wide failure'}>
          <dt>{session.error === null ? 'Ended' : 'Failure'}</dt>
          <dd>{reason}</dd>
        </div>
      )}
      {session.status === 'hibernated' && (
        <>
          <div class="wide">
            <dt>Hibernated</dt>
            <dd>{stateHint(session)}</dd>
          </div>
          <div>
            <dt>Kept until</dt>
            <dd>{at(session.expires_at)}</dd>
          </div>
        </>
      )}
      {isLive(session) && (
        <>
          <div>
            <dt>Expires unless used</dt>
            <dd>{at(session.expires_at)}</dd>
          </div>
          <div>
            <dt>Ends at the latest</dt>
            <dd>{at(session.ends_at)}</dd>
          </div>
        </>
      )}
      <div>
        <dt>Last used</dt>
        <dd>{at(session.last_used_at)}</dd>
      </div>
      <div>
        <dt>Created</dt>
        <dd>{dayAndTime(session.created_at)}</dd>
      </div>
      <div>
        <dt>Lease</dt>
        <dd>
          epoch {session.epoch}, {session.record_video ? 'recorded' : 'not recorded'}
        </dd>
      </div>
      <div>
        <dt>Session id</dt>
        <dd>
          <code>{session.session_id}</code>
        </dd>
      </div>
    </dl>
  );
}

function Actions({ session, onDone }: { session: Session; onDone: () => void }) {
  const [failure, setFailure] = useState<string>();
  const [done, setDone] = useState<string>();
  const act = (text: string, work: () => Promise<unknown>) => async () => {
    setFailure(undefined);
    setDone(undefined);
    try {
      await work();
      setDone(text);
    } catch (error) {
      setFailure(messageOf(error));
    }
    onDone();
  };
  const id = session.session_id;
  return (
    <>
      <p class="actions">
        {(isLive(session) || session.status === 'hibernated') && (
          <Confirm
            label="End the lease"
            question="The agent loses this browser. End the lease?"
            onConfirm={act('The lease has ended.', () =>
              callConsole('DELETE', `${encodePath`/browser-sessions/${id}`}?epoch=${session.epoch}`),
            )}
          />
        )}
        {session.archived_at === null && (
          <Confirm
            label="Archive"
            question="Archiving ends the lease and takes the session off the list. Archive it?"
            onConfirm={act('The session is archived.', () =>
              callConsole('POST', encodePath`/browser-sessions/${id}/archive`),
            )}
          />
        )}
      </p>
      <Failure text={failure} />
      <Success text={done} />
    </>
  );
}

function Artifacts({ session, artifacts }: { session: Session; artifacts: Polled<Artifact[]> }) {
  const list = artifacts.value;
  if (!list) return artifacts.error ? <Failure text={artifacts.error} /> : <Loading what="artifacts" />;
  if (list.length === 0)
    return (
      <p class="muted">
        {isLive(session) && session.record_video
          ? 'Videos are stored when the lease ends.'
          : 'Nothing was recorded or kept: files go with their session, and pages are kept where that is asked for.'}
      </p>
    );
  return (
    <>
      {list.some(({ kind, state }) => kind === 'video' && state === 'stored') && (
        <p>
          <a href={encodePath`/sessions/${session.session_id}/replay`}>Replay beside the timeline</a>
        </p>
      )}
      <ul class="rows">
        {list.map(artifact => (
          <li key={artifact.id}>
            <strong>{artifact.kind}</strong> {artifact.name} of epoch {artifact.epoch}, {timeOfDay(artifact.created_at)}
            : {artifact.state === 'stored' ? `stored, ${formatMegabytes(artifact.bytes ?? 0)}` : artifact.state}
            {artifact.reason !== null && ` (${artifact.reason})`}
            {artifact.uri !== null && <div class="muted long">{artifact.uri}</div>}
          </li>
        ))}
      </ul>
    </>
  );
}
