import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveRole } from '../../../contract/live.ts';
import { Failure } from '../notices.tsx';
import { Asked } from './asked.tsx';
import { ControlBar } from './control-bar.tsx';
import { Input } from './input.tsx';
import { type Painter, painter } from './painter.ts';
import { Picker } from './picker.tsx';
import type { Admit } from './socket.ts';
import { TabBar } from './tab-bar.tsx';
import { type Live, type LiveState, useLive } from './use-live.ts';
import './live.css';

export interface LiveViewProps {
  sessionId: string;
  liveRole: LiveRole;
  /** The agent asks for something, or no longer does: all that it asks for now, in its words. */
  onAsk: (reasons: readonly string[]) => void;
  /** Gets a live token for each connection; without it the sign-in admits. */
  admit?: Admit | undefined;
  /** Called with what hands control back; undefined while this page has none. */
  onControl?: (handBack: (() => void) | undefined) => void;
}

/** The browser of a session while it runs: seen by every viewer, used by the one who has control. */
export function LiveBrowser({ sessionId, liveRole, onAsk, onControl, admit }: LiveViewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pictures] = useState(() => painter(() => canvas.current));
  const [isSeen, setSeen] = useState(false);
  const live = useLive({
    sessionId,
    role: liveRole,
    admit,
    async onPicture(picture) {
      await pictures.paint(picture);
      setSeen(true);
    },
  });
  const { state, send } = live;
  useEffect(() => onAsk(state.asks.map(({ reason }) => reason)), [state.asks]);
  useEffect(() => {
    onControl?.(state.isMine ? () => send({ t: 'release' }) : undefined);
  }, [state.isMine]);
  const shown = state.tabs.find(tab => tab.shown);
  return (
    <section class="live" aria-label="Live view">
      <ControlBar live={live} />
      <TabBar live={live} />
      <div class={state.isMine ? 'screen mine' : 'screen'}>
        <canvas
          ref={canvas}
          width={1280}
          height={720}
          role="img"
          aria-label={`Picture of ${shown?.title || shown?.url || 'the browser'}`}
        />
        {!isSeen && (
          <p class="unseen-yet muted">{state.connection.is === 'ended' ? 'No picture.' : 'Waiting for a picture …'}</p>
        )}
        <Asked live={live} />
        <Act state={state} pictures={pictures} />
        {state.isMine && <Input pictures={pictures} canvas={canvas} send={send} takesFocus />}
        {state.isMine && state.picker && <Picker picker={state.picker} pictures={pictures} send={send} />}
      </div>
      <Failure text={state.refusal} />
      <Clip live={live} />
      <p class="muted">
        {state.isMine
          ? 'Press on the picture to type into the page; Shift+Esc leaves it. Your typing is not recorded in the timeline.'
          : state.act?.by === 'agent'
            ? `Last call of the agent: ${state.act.kind}`
            : ' '}
      </p>
    </section>
  );
}

/** A ring where someone clicked, drawn over the picture and not in the page. */
function Act({ state: { act }, pictures }: { state: LiveState; pictures: Painter }) {
  const size = pictures.shown();
  if (act?.x === undefined || act.y === undefined || size === undefined) return null;
  const place = { left: `${(act.x / size.cssWidth) * 100}%`, top: `${(act.y / size.cssHeight) * 100}%` };
  return <span key={act.n} class="ring" style={place} aria-hidden="true" />;
}

/** Puts what was copied in the page into the person's own clipboard. */
function Clip({ live: { state, note } }: { live: Live }) {
  const { clip } = state;
  const [isRefused, setRefused] = useState(false);
  useEffect(() => {
    setRefused(false);
    if (clip) navigator.clipboard?.writeText(clip).then(note, () => setRefused(true));
  }, [clip]);
  if (!clip || !isRefused) return null;
  return (
    <label class="notice">
      Your browser did not allow the copy. Copy it from here:
      <textarea readOnly value={clip} />
    </label>
  );
}
