import { useEffect, useState } from 'preact/hooks';
import type { GivenBack } from '../../../contract/live.ts';
import { TakeOver, whoHasControl } from './take-over.tsx';
import type { Live, LiveState } from './use-live.ts';

/** Why control is the agent's again. */
const GIVEN_BACK: Record<GivenBack, string> = {
  released: 'Control was handed back.',
  idle: 'Control went back to the agent: there was no input for a minute.',
  lost: 'Control went back to the agent: the connection was lost.',
  lease_ended: 'The lease has ended.',
};
/** A person is warned of the return of control from here on. */
const WARN_SECONDS = 20;

/** Shows who has control, with the buttons that change it. */
export function ControlBar({ live }: { live: Live }) {
  const { state, send } = live;
  const { control, isMine, mayControl, you } = state;
  const isOpen = state.connection.is === 'open';
  const waitsForMe = control?.state === 'pausing' && control.holder === you;
  return (
    <div class="control-bar">
      <p role="status">
        <span class={`status ${isMine ? 'ready' : ''}`}>{isOpen ? whoActs(state) : 'no control'}</span>{' '}
        {isOpen ? describeControl(state) : connectionSentence(state)}
        {isMine && <IdleWarning idleAtMs={live.idleAtMs} />}
      </p>
      <p class="actions">
        {mayControl &&
          (isMine || waitsForMe ? (
            <button type="button" class="control" onClick={() => send({ t: 'release' })}>
              {isMine ? 'Hand back' : 'Cancel'}
            </button>
          ) : isOpen && control?.holder != null ? (
            <TakeOver key={control.holder} from={control.holder} name={control.name ?? ''} send={send} />
          ) : (
            <button type="button" class="control" disabled={!isOpen} onClick={() => send({ t: 'take' })}>
              Take control
            </button>
          ))}
        {live.mayChangeTransport && (
          <button
            type="button"
            class="quiet"
            aria-pressed={live.transport === 'pictures'}
            title="Pictures by plain requests, for networks that block the stream"
            onClick={() => live.setTransport(live.transport === 'stream' ? 'pictures' : 'stream')}
          >
            Pictures only
          </button>
        )}
        <button type="button" class="quiet" onClick={event => void expand(event.currentTarget)}>
          Expand
        </button>
      </p>
    </div>
  );
}

/** To the whole screen, and back. */
async function expand(button: HTMLElement): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await button.closest('.live')?.requestFullscreen();
}

function whoActs({ control, isMine }: LiveState): string {
  if (isMine) return 'you';
  if (control?.state === 'person') return control.name ?? 'a person';
  return 'the agent';
}

function describeControl({ control, isMine, you }: LiveState): string {
  if (!control) return '';
  const { state, holder, name, waiting, why } = control;
  const calls =
    waiting === 0
      ? ''
      : ` ${waiting === 1 ? 'One call' : `${waiting} calls`} of the agent ${waiting === 1 ? 'waits' : 'wait'}.`;
  if (isMine) return `You have control; the agent waits until you hand back.${calls}`;
  if (state === 'person') return `${whoHasControl(control, you)}${calls}`;
  if (state === 'pausing')
    return holder === you
      ? 'You get control when the call of the agent that is running has ended.'
      : `${name} gets control when the call of the agent that is running has ended.`;
  return `The agent acts on the browser.${why === null ? '' : ` ${GIVEN_BACK[why]}`}`;
}

function connectionSentence({ connection }: LiveState): string {
  switch (connection.is) {
    case 'retrying':
      return `The connection was lost${connection.why === '' ? '' : ` (${connection.why})`}. Connecting again …`;
    case 'ended':
      return `The live view has ended${connection.why === '' ? '' : `: ${connection.why.replace(/\.$/, '')}`}.`;
    default:
      return 'Connecting to the browser …';
  }
}

/** Says in time that control goes back. Its own text, or a screen reader would read each second aloud. */
function IdleWarning({ idleAtMs }: { idleAtMs: () => number }) {
  const left = () => Math.max(0, Math.round((idleAtMs() - performance.now()) / 1_000));
  const [seconds, setSeconds] = useState(left);
  useEffect(() => {
    const timer = setInterval(() => setSeconds(left()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return seconds > WARN_SECONDS ? null : <span aria-hidden="true"> Without input it goes back in {seconds} s.</span>;
}
