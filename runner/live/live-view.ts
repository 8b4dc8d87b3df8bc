import type { BrowserContext, Page } from 'playwright-core';
import type {
  ControlEnd,
  InputMessage,
  LiveControl,
  LiveTokenClaims,
  ServerMessage,
  ViewerMessage,
} from '../../contract/live.ts';
import { LIVE_CLOSE, LIVE_LIMITS } from '../../contract/live-limits.ts';
import { encodePicture } from '../../contract/live-picture.ts';
import type { Clock } from '../../time/clock.ts';
import type { Freezer } from '../browser/freezer.ts';
import type { Captures } from '../capture/captures.ts';
import { liveAsking } from './asking.ts';
import { agentControl, type Control, type Person } from './control.ts';
import { deviceInput } from './input.ts';
import { personInput } from './person-input.ts';
import { livePickers } from './pickers.ts';
import { type OpenRequests, openRequests } from './requests.ts';
import { liveTabs } from './tabs.ts';
import { liveViewer, type Viewer, type ViewerSocket } from './viewer.ts';

/** Pictures for the viewers of a lease, and input of the person among them who has control. */
export interface LiveView {
  readonly control: Control;
  /** The agent's request to its person. */
  readonly requests: OpenRequests;
  /** Whether one more viewer is admitted. */
  isFull(): boolean;
  /** Serves a socket whose token was checked. */
  connect(socket: ViewerSocket, claims: Pick<LiveTokenClaims, 'viewer' | 'viewer_id' | 'role'>): void;
  /** A call of the agent has ended, after which it acts on this tab: viewers see that one. */
  agentActed(tool: string, tab: Page | undefined): void;
  /** Closes every socket; control goes back. Resolves when what was held is lifted. */
  close(): Promise<void>;
}

export interface LiveViewOptions {
  readonly context: BrowserContext;
  readonly captures: Captures;
  readonly freezer: Pick<Freezer, 'use'>;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
  readonly clock: Clock;
  /** Awaited when a person's control has ended, before the agent goes on. Never rejects. */
  readonly beforeAgent: () => Promise<void>;
  readonly onTaken: (person: Person, from: LiveControl['taken_from']) => void;
  readonly onControlEnded: (person: Person, why: ControlEnd, seconds: number) => void;
}

const TITLES_EVERY_MS = 1_000;
const LEASE_ENDED = 'the lease has ended';

export function liveView({
  context,
  captures,
  freezer,
  conceal,
  clock,
  beforeAgent,
  onTaken,
  onControlEnded,
}: LiveViewOptions): LiveView {
  const viewers = new Map<string, Viewer>();
  const closed = new AbortController();
  let count = 0;
  /** Open sockets, those that are not greeted yet too. */
  let open = 0;
  let seq = 0;
  /** Address of the shown tab, as it was sent; for who comes later. */
  let newest: { tab: number; bytes: Uint8Array } | undefined;
  let tabsSent = '';
  let telling: Promise<void> | undefined;

  const sayAll = (message: ServerMessage) => {
    for (const viewer of viewers.values()) viewer.say(message);
  };

  const tabs = liveTabs({
    context,
    captures,
    conceal,
    onPicture(picture, tab) {
      seq = (seq + 1) % 2 ** 32;
      newest = { tab, bytes: encodePicture({ ...picture, tab, seq }) };
      for (const viewer of viewers.values()) viewer.show(newest.bytes);
    },
    onChange: () => void tellTabs(),
  });
  const asking = liveAsking({ idOf: tabs.idOf, say: sayAll, conceal });
  const requests = openRequests(sayAll, clock);
  const device = deviceInput(context);
  const pickers = livePickers({ idOf: tabs.idOf, say: sayAll, conceal });
  const input = personInput({ tabs, device, asking, pickers });
  const control = agentControl({
    clock,
    onChange: () => sayAll({ t: 'control', control: control.state() }),
    onTaken,
    async onEnded(person, why, seconds) {
      await input.end();
      pickers.end();
      await beforeAgent();
      onControlEnded(person, why, seconds);
    },
  });
  const watchPage = (page: Page) => asking.watch(page);
  context.pages().forEach(watchPage);
  context.on('page', watchPage);
  void every(LIVE_LIMITS.pingSeconds * 1_000, () => {
    for (const viewer of viewers.values()) viewer.ping();
  });
  void every(TITLES_EVERY_MS, () => void tellTabs()); // no event tells that a page has changed its title

  /** Changes that come while one is told are told together after it. */
  async function tellTabs(): Promise<void> {
    if (viewers.size === 0) return;
    if (telling !== undefined) {
      await telling;
      if (telling !== undefined) return;
    }
    telling = sendTabs().finally(() => {
      telling = undefined;
    });
    await telling;
  }

  async function sendTabs(): Promise<void> {
    const list = await tabs.list();
    const text = JSON.stringify(list);
    if (text === tabsSent) return;
    tabsSent = text;
    sayAll({ t: 'tabs', tabs: list });
  }

  /** Until it is closed. */
  async function every(ms: number, work: () => void): Promise<void> {
    try {
      for (;;) {
        await clock.sleep(ms, closed.signal, true);
        work();
      }
    } catch {
      // it is closed
    }
  }

  async function greet(viewer: Viewer): Promise<void> {
    const list = await tabs.list();
    const asked = await asking.open();
    if (closed.signal.aborted) viewer.close(LIVE_CLOSE.leaseEnded, LEASE_ENDED);
    if (viewer.isClosed()) return;
    viewer.say({ t: 'hello', you: viewer.id, role: viewer.role, control: control.state(), tabs: list });
    for (const message of [...asked, ...pickers.open(), ...requests.open()]) viewer.say(message);
    viewers.set(viewer.id, viewer);
    tabsSent = ''; // this viewer was told another list than the others, who may be gone
    if (newest !== undefined && newest.tab === tabs.idOf(tabs.shown() as Page)) viewer.show(newest.bytes);
    tabs.watch(true);
  }

  async function act(viewer: Viewer, message: InputMessage): Promise<void> {
    if (!control.mayAct(viewer.id)) {
      viewer.say({ t: 'refused', why: 'not_in_control', text: 'Take control first.' });
      return;
    }
    try {
      const copied = await input.act(message);
      if (message.t === 'copy') viewer.say({ t: 'clip', text: await conceal(copied ?? '') });
      if (message.t === 'mouse' && message.kind === 'down')
        sayAll({ t: 'act', by: 'person', kind: 'click', x: message.x, y: message.y });
    } catch (error) {
      const [text = ''] = (error instanceof Error ? error.message : '').split('\n');
      viewer.say({ t: 'refused', why: 'failed', text: await conceal(text) });
    }
  }

  async function take(viewer: Viewer, { from, reason }: Extract<ViewerMessage, { t: 'take' }>): Promise<void> {
    const told = reason === undefined ? null : await conceal(reason);
    const isTaken = control.take(
      { id: viewer.id, identity: viewer.identity, name: viewer.name },
      from === undefined ? undefined : { id: from, reason: told },
    );
    if (!isTaken) viewer.say({ t: 'refused', why: 'held', text: 'Another person has control.' });
  }

  function read(viewer: Viewer, message: Exclude<ViewerMessage, { t: 'ack' | 'pong' }>): void {
    if (viewer.role === 'view')
      viewer.say({ t: 'refused', why: 'view_only', text: 'This link shows the browser only.' });
    else if (message.t === 'take') void take(viewer, message);
    else if (message.t === 'release') control.giveBack(viewer.id, 'released');
    else void act(viewer, message);
  }

  return {
    control,
    requests,
    isFull: () => open >= LIVE_LIMITS.viewersMax,
    connect(socket, { viewer: name, viewer_id, role }) {
      // A name that a platform vouches for is never taken for an id.
      const identity = viewer_id === undefined ? `name ${name}` : `id ${viewer_id}`;
      count += 1;
      open += 1;
      const unused = freezer.use();
      const id = `v${count}`;
      const viewer = liveViewer({
        id,
        identity,
        name,
        role,
        socket,
        clock,
        onMessage: message => read(viewer, message),
        onClose() {
          open -= 1;
          unused();
          viewers.delete(id);
          control.connectionLost(id);
          if (viewers.size > 0) return;
          tabs.watch(false);
          newest = undefined;
        },
      });
      void greet(viewer);
    },
    agentActed(tool, tab) {
      if (tab !== undefined) tabs.show(tab);
      sayAll({ t: 'act', by: 'agent', kind: tool });
    },
    async close() {
      closed.abort();
      context.off('page', watchPage);
      control.close();
      for (const viewer of viewers.values()) viewer.close(LIVE_CLOSE.leaseEnded, LEASE_ENDED);
      tabs.close();
      await input.end();
    },
  };
}
