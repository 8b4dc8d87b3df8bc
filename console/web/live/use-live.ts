import { useCallback, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { LiveControl, LiveRole, LiveTab, ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';
import type { LivePicture } from '../../../contract/live-picture.ts';
import { openPolledView } from './polled.ts';
import { type Admit, type LiveConnection, type LiveSocket, openLiveSocket } from './socket.ts';

type Of<T extends ServerMessage['t']> = Extract<ServerMessage, { t: T }>;

/** State that a live view has received. */
export interface LiveState {
  readonly connection: LiveConnection;
  /** Whether this page has control. */
  readonly isMine: boolean;
  /** Whether this page may have it. */
  readonly mayControl: boolean;
  readonly you: string;
  readonly control: LiveControl | undefined;
  readonly tabs: readonly LiveTab[];
  /** At most one open dialog per tab. */
  readonly dialogs: readonly Of<'dialog'>[];
  readonly choosers: readonly Of<'files'>[];
  /** The field for which the person in control may choose. */
  readonly picker: Of<'picker'> | undefined;
  /** The agent's request to its person. */
  readonly asks: readonly Of<'ask'>[];
  /** The last thing that acted on the page, and its number. */
  readonly act: (Of<'act'> & { readonly n: number }) | undefined;
  /** Text that was copied, until it is in the clipboard. */
  readonly clip: string | undefined;
  readonly refusal: string | undefined;
}

type Change =
  | ServerMessage
  | { t: 'connection'; connection: LiveConnection }
  | { t: 'answered'; tab: number }
  | { t: 'noted' };

const START: LiveState = {
  connection: { is: 'connecting' },
  isMine: false,
  mayControl: false,
  you: '',
  control: undefined,
  tabs: [],
  dialogs: [],
  choosers: [],
  picker: undefined,
  asks: [],
  act: undefined,
  clip: undefined,
  refusal: undefined,
};

const withoutTab = <T extends { tab: number }>(list: readonly T[], tab: number): T[] =>
  list.filter(each => each.tab !== tab);

function change(state: LiveState, message: Change): LiveState {
  switch (message.t) {
    case 'connection':
      return { ...state, connection: message.connection, isMine: state.isMine && message.connection.is === 'open' };
    case 'hello': {
      const { you, role, tabs } = message;
      const fresh: LiveState = { ...START, connection: { is: 'open' }, mayControl: role === 'control', you, tabs };
      return withControl(fresh, message.control);
    }
    case 'control':
      return withControl(state, message.control);
    case 'tabs':
      return { ...state, tabs: message.tabs };
    case 'dialog':
      return { ...state, dialogs: [...withoutTab(state.dialogs, message.tab), message] };
    case 'dialog_closed':
      return { ...state, dialogs: withoutTab(state.dialogs, message.tab) };
    case 'picker':
      return { ...state, picker: message };
    case 'picker_closed':
      return { ...state, picker: undefined };
    case 'files':
      return { ...state, choosers: [...withoutTab(state.choosers, message.tab), message] };
    case 'answered':
      return { ...state, choosers: withoutTab(state.choosers, message.tab) };
    case 'ask':
      return { ...state, asks: [...state.asks.filter(({ id }) => id !== message.id), message] };
    case 'ask_closed':
      return { ...state, asks: state.asks.filter(({ id }) => id !== message.id) };
    case 'act':
      return { ...state, act: { ...message, n: (state.act?.n ?? 0) + 1 } };
    case 'clip':
      return { ...state, clip: message.text };
    case 'refused':
      return { ...state, refusal: message.text };
    case 'noted':
      return { ...state, clip: undefined, refusal: undefined };
    default:
      return state;
  }
}

const withControl = (state: LiveState, control: LiveControl): LiveState => ({
  ...state,
  control,
  isMine: control.state === 'person' && control.holder === state.you,
  refusal: undefined,
});

/** Set while this tab of the person's browser has control, so that a reload keeps it. */
const heldKey = (sessionId: string) => `omicron-control ${sessionId}`;

/** By one WebSocket, or by requests where a network lets none through. */
export type Transport = 'stream' | 'pictures';
const TRANSPORT_KEY = 'omicron-live-transport';
/** A socket that was never open after this many attempts is given up for pictures. */
const ATTEMPTS_MAX = 3;

export interface Live {
  readonly state: LiveState;
  /** Sends a message, or drops it where there is no connection. */
  readonly send: (message: ViewerMessage) => void;
  /** Takes note of what was copied or refused. */
  readonly note: () => void;
  /** The chooser of this tab has its files. */
  readonly answered: (tab: number) => void;
  readonly transport: Transport;
  /** False: who is admitted by a token has the stream only. */
  readonly mayChangeTransport: boolean;
  /** Changes it, for this browser. */
  readonly setTransport: (transport: Transport) => void;
  /** When control returns without further input, by `performance.now()`. */
  readonly idleAtMs: () => number;
}

export interface UseLiveOptions {
  readonly sessionId: string;
  readonly role: LiveRole;
  readonly onPicture: (picture: LivePicture) => Promise<void>;
  readonly admit: Admit | undefined;
}

/** A live view, connected while the page is visible or has control. */
export function useLive({ sessionId, role, onPicture, admit }: UseLiveOptions): Live {
  const [state, dispatch] = useReducer(change, START);
  const [transport, setTransport] = useState<Transport>(() =>
    admit === undefined && localStorage.getItem(TRANSPORT_KEY) === 'pictures' ? 'pictures' : 'stream',
  );
  const socket = useRef<LiveSocket | undefined>(undefined);
  const idleAt = useRef(0);
  const isMine = useRef(false);
  isMine.current = state.isMine;
  const callbacks = useRef({ onPicture, admit });
  callbacks.current = { onPicture, admit };

  useEffect(() => {
    const key = heldKey(sessionId);
    const read = (message: ServerMessage) => {
      const { control } = message.t === 'hello' || message.t === 'control' ? message : {};
      if (control?.idle_ms != null) idleAt.current = performance.now() + control.idle_ms;
      if (message.t === 'hello' && control?.state === 'person' && sessionStorage.getItem(key) !== null)
        socket.current?.send({ t: 'take' });
      // A viewer who asked to watch only is offered no control, whatever their token allows.
      dispatch(message.t === 'hello' && role === 'view' ? { ...message, role } : message);
    };
    let wasOpen = false;
    let attempts = 0;
    const follow = (connection: LiveConnection) => {
      if (connection.is === 'open') wasOpen = true;
      if (connection.is === 'retrying') attempts += 1;
      if (transport === 'stream' && !wasOpen && attempts === ATTEMPTS_MAX && admit === undefined)
        setTransport('pictures');
      dispatch({ t: 'connection', connection });
    };
    const connect = () => {
      socket.current ??= (transport === 'stream' ? openLiveSocket : openPolledView)({
        sessionId,
        role,
        admit: callbacks.current.admit,
        onMessage: read,
        onPicture: picture => callbacks.current.onPicture(picture),
        onConnection: follow,
      });
    };
    const disconnect = () => {
      socket.current?.close();
      socket.current = undefined;
    };
    const adjust = () => {
      if (!document.hidden) connect();
      else if (!isMine.current) disconnect();
    };
    adjust();
    document.addEventListener('visibilitychange', adjust);
    return () => {
      document.removeEventListener('visibilitychange', adjust);
      disconnect();
    };
  }, [sessionId, role, transport]);

  useEffect(() => {
    if (state.isMine) sessionStorage.setItem(heldKey(sessionId), '');
    else if (state.connection.is === 'open') sessionStorage.removeItem(heldKey(sessionId));
  }, [sessionId, state.isMine, state.connection.is]);

  const send = useCallback((message: ViewerMessage) => {
    idleAt.current = performance.now() + LIVE_LIMITS.idleSeconds * 1_000;
    socket.current?.send(message);
  }, []);
  const note = useCallback(() => dispatch({ t: 'noted' }), []);
  const answered = useCallback((tab: number) => dispatch({ t: 'answered', tab }), []);
  const choose = useCallback((chosen: Transport) => {
    localStorage.setItem(TRANSPORT_KEY, chosen);
    setTransport(chosen);
  }, []);
  const mayChangeTransport = admit === undefined;
  return {
    state,
    send,
    note,
    answered,
    transport,
    mayChangeTransport,
    setTransport: choose,
    idleAtMs: () => idleAt.current,
  };
}
