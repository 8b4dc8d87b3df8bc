import { useRef, useState } from 'preact/hooks';
import type { Artifact, Session, SessionEvent } from '../../../contract/session.ts';
import { callConsole, encodePath } from '../api.ts';
import { newEvents } from '../events.ts';
import { Empty, Failure, Loading } from '../notices.tsx';
import { type Chapter, chaptersOf, clockOf, type Video, videoAt, videosOf } from '../replay.ts';
import { usePolled } from '../use-polled.ts';
import { eventLine, eventTitle } from '../words.ts';

/** A lease that has ended changes no more; a video that is being stored still comes. */
const POLL_MS = 10_000;
/** A video that is sought to a place says that it is there, less than this before it. */
const PLACE_ROUNDED_MS = 1;
const UNREADABLE =
  'This video cannot be read: it is gone, or its deployment keeps videos in S3 for administrators alone (docs/operations.md says how to replay them).';
const SPEEDS = [0.5, 1, 1.5, 2, 4] as const;

const artifactOf = (sessionId: string, { id }: Video): string =>
  `/api${encodePath`/browser-sessions/${sessionId}/artifacts/${id}`}`;

interface Recorded {
  readonly session: Session;
  readonly events: readonly SessionEvent[];
  readonly videos: readonly Video[];
}

/** The videos of a session beside its timeline: an event is a place in the video. */
export function ReplayPage({ id }: { id: string }) {
  const recorded = usePolled<Recorded>(`replay ${id}`, POLL_MS, async (signal, known) => {
    const at = encodePath`/browser-sessions/${id}`;
    const [session, { artifacts }, events] = await Promise.all([
      callConsole<Session>('GET', at, undefined, signal),
      callConsole<{ artifacts: Artifact[] }>('GET', `${at}/artifacts`, undefined, signal),
      newEvents(id, known?.events ?? [], signal),
    ]);
    return { session, events, videos: videosOf(artifacts, events) };
  });
  const { value } = recorded;
  return (
    <>
      <p class="trail">
        <a href="/">Sessions</a> /{' '}
        <a href={encodePath`/sessions/${id}`}>{value?.session.conversation_id ?? 'Session'}</a>
      </p>
      <h1>Replay</h1>
      <Failure text={recorded.error} />
      {!value && !recorded.error && <Loading what="the recording" />}
      {value?.videos.length === 0 && (
        <Empty title="No video yet">
          <p>Videos are stored when a lease that is recorded ends.</p>
        </Empty>
      )}
      {value && value.videos.length > 0 && <Leases id={id} recorded={value} />}
    </>
  );
}

function Leases({ id, recorded: { events, videos } }: { id: string; recorded: Recorded }) {
  const epochs = [...new Set(videos.map(({ epoch }) => epoch))].sort((a, b) => b - a);
  const [chosen, setChosen] = useState<number>();
  const epoch = chosen ?? epochs[0] ?? 0;
  return (
    <>
      {epochs.length > 1 && (
        <label>
          Lease
          <select value={epoch} onChange={event => setChosen(Number(event.currentTarget.value))}>
            {epochs.map(each => (
              <option value={each}>epoch {each}</option>
            ))}
          </select>
        </label>
      )}
      <Player
        key={epoch}
        sessionId={id}
        videos={videos.filter(video => video.epoch === epoch)}
        chapters={chaptersOf(events, epoch)}
      />
    </>
  );
}

function Player(props: { sessionId: string; videos: readonly Video[]; chapters: readonly Chapter[] }) {
  const { sessionId, videos, chapters } = props;
  const element = useRef<HTMLVideoElement>(null);
  const [shown, setShown] = useState(videos[0]);
  const [nowMs, setNowMs] = useState(videos[0]?.startMs ?? 0);
  const [pressed, setPressed] = useState<Chapter>();
  const [speed, setSpeed] = useState<number>(1);
  const [unreadable, setUnreadable] = useState<string>();
  /** Start position of a video that is not loaded yet. */
  const pendingMs = useRef<number>(undefined);
  const beginMs = videos[0]?.startMs ?? 0;
  const endMs = Math.max(beginMs + 1_000, ...chapters.map(chapter => chapter.endMs));

  const seek = (atMs: number, wanted = videoAt(videos, atMs, shown)) => {
    if (!wanted) return;
    setNowMs(atMs);
    if (wanted.id === shown?.id && element.current) {
      element.current.currentTime = Math.max(0, (atMs - wanted.startMs) / 1_000);
      return;
    }
    pendingMs.current = atMs;
    setShown(wanted);
  };
  const onLoaded = () => {
    if (!element.current || !shown) return;
    element.current.playbackRate = speed;
    if (pendingMs.current !== undefined)
      element.current.currentTime = Math.max(0, (pendingMs.current - shown.startMs) / 1_000);
    pendingMs.current = undefined;
  };
  // another may begin within the same milliseconds as the one that was pressed
  const isAtPressed = pressed !== undefined && Math.abs(pressed.startMs - nowMs) <= PLACE_ROUNDED_MS;
  const current = isAtPressed ? pressed : chapters.findLast(({ startMs }) => startMs <= nowMs + PLACE_ROUNDED_MS);
  return (
    <div class="replay">
      <section aria-label="Video">
        <Failure text={unreadable !== undefined && unreadable === shown?.id ? UNREADABLE : undefined} />
        {shown && (
          // biome-ignore lint/a11y/useMediaCaption: the recording has no sound; what happens is in the timeline beside it
          <video
            ref={element}
            src={`${artifactOf(sessionId, shown)}/content`}
            controls
            preload="metadata"
            onLoadedMetadata={onLoaded}
            onError={() => setUnreadable(shown.id)}
            onTimeUpdate={event => setNowMs(shown.startMs + event.currentTarget.currentTime * 1_000)}
          />
        )}
        <Track {...{ chapters, beginMs, endMs, nowMs }} />
        <p class="actions">
          <label>
            Speed
            <select
              value={speed}
              onChange={event => {
                const chosen = Number(event.currentTarget.value);
                setSpeed(chosen);
                if (element.current) element.current.playbackRate = chosen;
              }}
            >
              {SPEEDS.map(each => (
                <option value={each}>{each}×</option>
              ))}
            </select>
          </label>
          {videos.length > 1 && (
            <label>
              Tab
              <select
                value={shown?.id}
                onChange={event => {
                  const { value } = event.currentTarget;
                  const wanted = videos.find(video => video.id === value);
                  if (wanted) seek(Math.max(nowMs, wanted.startMs), wanted);
                }}
              >
                {videos.map(video => (
                  <option value={video.id}>
                    {video.file} (from {clockOf(video.startMs - beginMs)})
                  </option>
                ))}
              </select>
            </label>
          )}
          {shown && <Downloads sessionId={sessionId} video={shown} />}
        </p>
      </section>
      <Chapters
        chapters={chapters}
        beginMs={beginMs}
        current={current}
        onPress={chapter => {
          setPressed(chapter);
          seek(chapter.startMs);
        }}
      />
    </div>
  );
}

/** Positions of the agent's calls, of a person's spans, and of the video. */
function Track(props: { chapters: readonly Chapter[]; beginMs: number; endMs: number; nowMs: number }) {
  const { chapters, beginMs, endMs, nowMs } = props;
  const part = (ms: number) => `${Math.min(100, Math.max(0, ((ms - beginMs) / (endMs - beginMs)) * 100))}%`;
  return (
    <div class="track" aria-hidden="true">
      {chapters
        .filter(({ tone }) => tone !== 'other')
        .map(({ event, startMs, endMs: untilMs, tone }) => (
          <span
            key={event.id}
            class={tone}
            style={{ left: part(startMs), width: `calc(${part(untilMs)} - ${part(startMs)} + 2px)` }}
          />
        ))}
      <span class="now" style={{ left: part(nowMs) }} />
    </div>
  );
}

function Downloads({ sessionId, video }: { sessionId: string; video: Video }) {
  const formats = usePolled('formats', 3_600_000, signal =>
    callConsole<{ formats: string[] }>('GET', '/video-formats', undefined, signal),
  );
  const hasMp4 = formats.value?.formats.includes('mp4');
  const at = artifactOf(sessionId, video);
  return (
    <>
      <a href={`${at}/content`} download={video.file}>
        Download
      </a>
      {hasMp4 && (
        <a href={`${at}/mp4`} download={video.file.replace(/webm$/, 'mp4')}>
          Download as MP4
        </a>
      )}
    </>
  );
}

/** The events of the video, each a place to go to. */
function Chapters(props: {
  chapters: readonly Chapter[];
  beginMs: number;
  current: Chapter | undefined;
  onPress: (chapter: Chapter) => void;
}) {
  const { chapters, beginMs, current, onPress } = props;
  return (
    <ol class="chapters" aria-label="Events">
      {chapters.map(chapter => (
        <li key={chapter.event.id}>
          <button
            type="button"
            class={`quiet ${chapter.tone}`}
            aria-current={chapter.event.id === current?.event.id}
            onClick={() => onPress(chapter)}
          >
            <span class="at">{clockOf(chapter.startMs - beginMs)}</span> <strong>{eventTitle(chapter.event)}</strong>{' '}
            <span class="muted long">{eventLine(chapter.event)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}
