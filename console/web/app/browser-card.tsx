import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { APP_TOOLS } from '../../../contract/app-names.ts';
import type { LiveControl, LiveTab, ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import { AddressBar } from '../live/address-bar.tsx';
import { Dialog } from '../live/dialog.tsx';
import { Input } from '../live/input.tsx';
import { painter } from '../live/painter.ts';
import { Picker } from '../live/picker.tsx';
import { TakeOver, whoHasControl } from '../live/take-over.tsx';
import type { Host } from './host.ts';
import { failureOf } from './tool-result.ts';
import { openWay, type Way, type WayState } from './way.ts';

type Of<T extends ServerMessage['t']> = Extract<ServerMessage, { t: T }>;

/** State that the page has received. */
interface Told {
  readonly state: WayState;
  /** This viewer's name among viewers. */
  readonly you: string;
  readonly control: LiveControl | undefined;
  readonly tabs: readonly LiveTab[];
  readonly dialog: Of<'dialog'> | undefined;
  readonly picker: Of<'picker'> | undefined;
  readonly ask: Of<'ask'> | undefined;
  readonly note: string;
}

const NOTHING: Told = {
  state: { is: 'connecting', why: '' },
  you: '',
  control: undefined,
  tabs: [],
  dialog: undefined,
  picker: undefined,
  ask: undefined,
  note: '',
};

function applyMessage(told: Told, message: ServerMessage): Told {
  switch (message.t) {
    case 'hello':
      return { ...NOTHING, state: told.state, you: message.you, control: message.control, tabs: message.tabs };
    case 'control':
      return { ...told, control: message.control, note: '' };
    case 'tabs':
      return { ...told, tabs: message.tabs };
    case 'dialog':
      return { ...told, dialog: message };
    case 'dialog_closed':
      return { ...told, dialog: undefined };
    case 'picker':
      return { ...told, picker: message };
    case 'picker_closed':
      return { ...told, picker: undefined };
    case 'files':
      return { ...told, note: 'The page asks for a file. Give it in the console.' };
    case 'ask':
      return { ...told, ask: message };
    case 'ask_closed':
      return { ...told, ask: undefined };
    case 'clip':
      void navigator.clipboard?.writeText(message.text).catch(() => undefined);
      return told;
    case 'refused':
      return { ...told, note: message.text };
    default:
      return told;
  }
}

export interface BrowserCardProps {
  host: Host;
  /** The arguments with which the page names its conversation. */
  names: () => Readonly<Record<string, unknown>>;
  mode: 'inline' | 'fullscreen';
  /** Aborts when the host takes the page away. */
  ended: AbortSignal;
}

/** The browser beside the chat: its picture, where it is, and the buttons of the person who takes control. */
export function BrowserCard({ host, names, mode, ended }: BrowserCardProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pictures] = useState(() => painter(() => canvas.current));
  const [told, setTold] = useState(NOTHING);
  const way = useRef<Way | undefined>(undefined);
  const send = useCallback((message: ViewerMessage) => way.current?.send(message), []);
  const { state, control, dialog, ask } = told;
  const isMine = state.is === 'open' && control?.state === 'person' && control.holder === told.you;

  useEffect(() => {
    const opened = openWay({
      call: (name, args) => host.call(name, { ...args, ...names() }),
      onMessage: message => setTold(before => applyMessage(before, message)),
      onPicture: picture => pictures.paint(picture),
      onState: state => setTold(before => ({ ...before, state })),
    });
    way.current = opened;
    const close = () => {
      opened.send({ t: 'release' });
      opened.close();
    };
    ended.addEventListener('abort', close, { once: true });
    return close;
  }, [host, ended]);

  /** Control goes back with the answer: the agent goes on at once. */
  async function answer(id: string, status: 'done' | 'declined'): Promise<void> {
    if (isMine) send({ t: 'release' });
    const result = await host.call(APP_TOOLS.answer, { ...names(), id, status });
    if (result.isError) setTold(before => ({ ...before, note: failureOf(result).message }));
  }

  const shown = told.tabs.find(tab => tab.shown);
  return (
    <section class="live" aria-label="Browser" data-by={state.is === 'open' ? state.by : undefined}>
      <div class="control-bar">
        <p role="status">
          <span class={`status ${isMine ? 'ready' : ''}`}>{isMine ? 'you' : 'the agent'}</span>{' '}
          {describeState(told, isMine)}
        </p>
        <p class="actions">
          {state.is === 'open' && control?.holder != null && control.holder !== told.you ? (
            <TakeOver key={control.holder} from={control.holder} name={control.name ?? ''} send={send} />
          ) : (
            <button
              type="button"
              class="control"
              disabled={state.is !== 'open' || control?.state === 'pausing'}
              onClick={() => send({ t: isMine ? 'release' : 'take' })}
            >
              {isMine ? 'Hand back' : 'Take control'}
            </button>
          )}
          {host.canExpand && (
            <button type="button" class="quiet" onClick={() => host.show(mode === 'inline' ? 'fullscreen' : 'inline')}>
              {mode === 'inline' ? 'Expand' : 'Shrink'}
            </button>
          )}
        </p>
      </div>
      {ask && (
        <section class="notice" aria-label="The agent asks you">
          <p>The agent asks you: {ask.reason}</p>
          <p class="actions">
            <button type="button" onClick={() => answer(ask.id, 'done')}>
              Done
            </button>
            <button type="button" class="quiet" onClick={() => answer(ask.id, 'declined')}>
              Decline
            </button>
          </p>
        </section>
      )}
      <AddressBar shown={shown} isMine={isMine} send={send}>
        <Tabs tabs={told.tabs} isMine={isMine} send={send} />
      </AddressBar>
      <div class={isMine ? 'screen mine' : 'screen'}>
        <canvas
          ref={canvas}
          width={1280}
          height={720}
          role="img"
          aria-label={`Picture of ${shown?.title || shown?.url || 'the browser'}`}
        />
        {dialog && (
          <div class="asked">
            <Dialog key={dialog.tab} dialog={dialog} isMine={isMine} send={send} />
          </div>
        )}
        {isMine && <Input pictures={pictures} canvas={canvas} send={send} takesFocus={false} />}
        {isMine && told.picker && <Picker picker={told.picker} pictures={pictures} send={send} />}
      </div>
      {told.note !== '' && <p class="notice">{told.note}</p>}
    </section>
  );
}

function describeState({ state, control, you }: Told, isMine: boolean): string {
  if (state.is === 'ended') return state.why || 'The browser has ended.';
  if (state.is === 'connecting') return state.why ? `${state.why} Connecting again …` : 'Connecting to the browser …';
  if (isMine) return 'You have control; the agent waits until you hand back.';
  if (control?.state === 'person') return whoHasControl(control, you);
  return control?.state === 'pausing'
    ? 'You get control when the call that is running has ended.'
    : 'acts on the browser.';
}

interface TabsProps {
  tabs: readonly LiveTab[];
  isMine: boolean;
  send: Way['send'];
}

/** Chooses the tab that is shown, where there are several. */
function Tabs({ tabs, isMine, send }: TabsProps) {
  if (tabs.length < 2) return null;
  return (
    <select
      aria-label="Tab"
      disabled={!isMine}
      value={tabs.find(tab => tab.shown)?.id}
      onChange={event => send({ t: 'tab', id: Number(event.currentTarget.value), do: 'show' })}
    >
      {tabs.map(tab => (
        <option key={tab.id} value={tab.id}>
          {tab.title || tab.url}
        </option>
      ))}
    </select>
  );
}
