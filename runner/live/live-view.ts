import type { BrowserContext, Page } from 'playwright-core';
import {
  type ControlEnd,
  identityOf,
  type LiveControl,
  type LiveTokenClaims,
  type ServerMessage,
} from '../../contract/live.ts';
import { LIVE_CLOSE, LIVE_LIMITS } from '../../contract/live-limits.ts';
import type { Clock } from '../../time/clock.ts';
import type { Freezer } from '../browser/freezer.ts';
import type { Captures } from '../capture/captures.ts';
import { liveAsking } from './asking.ts';
import { Audience, LEASE_ENDED } from './audience.ts';
import { AgentControl, type Control, type Person } from './control.ts';
import { deviceInput } from './input.ts';
import { personInput } from './person-input.ts';
import { livePickers } from './pickers.ts';
import { type OpenRequests, openRequests } from './requests.ts';
import { liveTabs } from './tabs.ts';
import { liveViewer, type Viewer, type ViewerSocket } from './viewer.ts';
import { viewerMessages } from './viewer-messages.ts';

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

export function liveView(options: LiveViewOptions): LiveView {
  const { context, captures, freezer, conceal, clock, onTaken } = options;
  const closed = new AbortController();
  let count = 0;
  /** Open sockets, those that are not greeted yet too. */
  let open = 0;

  const audience = new Audience(() => tabs.list());
  const tabs = liveTabs({
    context,
    captures,
    conceal,
    onPicture: (picture, tab) => audience.show(picture, tab),
    onChange: () => void audience.tellTabs(),
  });
  const say = (message: ServerMessage) => audience.say(message);
  const asking = liveAsking({ idOf: tabs.idOf, say, conceal });
  const requests = openRequests(say, clock);
  const pickers = livePickers({ idOf: tabs.idOf, say, conceal });
  const input = personInput({ tabs, device: deviceInput(context), asking, pickers });
  const control = new AgentControl({
    clock,
    onChange: () => say({ t: 'control', control: control.state() }),
    onTaken,
    async onEnded(person, why, seconds) {
      await input.end();
      pickers.end();
      await options.beforeAgent();
      options.onControlEnded(person, why, seconds);
    },
  });
  const onMessage = viewerMessages({ control, input, audience, conceal });
  const watchPage = (page: Page) => asking.watch(page);
  context.pages().forEach(watchPage);
  context.on('page', watchPage);
  void every(clock, LIVE_LIMITS.pingSeconds * 1_000, closed.signal, () => audience.ping());
  // no event says that a page has changed its title
  void every(clock, TITLES_EVERY_MS, closed.signal, () => void audience.tellTabs());

  async function greet(viewer: Viewer): Promise<void> {
    const list = await tabs.list();
    const asked = await asking.open();
    if (closed.signal.aborted) viewer.close(LIVE_CLOSE.leaseEnded, LEASE_ENDED);
    if (viewer.isClosed()) return;
    viewer.say({ t: 'hello', you: viewer.id, role: viewer.role, control: control.state(), tabs: list });
    for (const message of [...asked, ...pickers.open(), ...requests.open()]) viewer.say(message);
    audience.add(viewer, tabs.idOf(tabs.shown() as Page));
    tabs.watch(true);
  }

  return {
    control,
    requests,
    isFull: () => open >= LIVE_LIMITS.viewersMax,
    connect(socket, claims) {
      const { viewer: name, role } = claims;
      const identity = identityOf(claims);
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
        onMessage: message => onMessage(viewer, message),
        onClose() {
          open -= 1;
          unused();
          audience.remove(id);
          control.connectionLost(id);
          if (audience.isEmpty()) tabs.watch(false);
        },
      });
      void greet(viewer);
    },
    agentActed(tool, tab) {
      if (tab !== undefined) tabs.show(tab);
      say({ t: 'act', by: 'agent', kind: tool });
    },
    async close() {
      closed.abort();
      context.off('page', watchPage);
      control.close();
      audience.close();
      tabs.close();
      await input.end();
    },
  };
}

/** Works at this interval until the signal is aborted. */
async function every(clock: Clock, ms: number, signal: AbortSignal, work: () => void): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(ms, signal, true);
      work();
    }
  } catch {
    // it is closed
  }
}
