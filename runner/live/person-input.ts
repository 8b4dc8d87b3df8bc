import type { Page } from 'playwright-core';
import type { InputMessage } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { refusedUrl } from '../browser/addresses.ts';
import { NAVIGATION_MS } from '../browser/navigation-time.ts';
import type { Asking } from './asking.ts';
import type { DeviceInput, DeviceMessage } from './input.ts';
import type { Pickers } from './pickers.ts';
import type { Tabs } from './tabs.ts';

/** Carries out what the person in control does. */
export interface PersonInput {
  /** Resolves with the copied text after `copy`. Rejects with a sentence for the person. */
  act(message: InputMessage): Promise<string | undefined>;
  /** Lets the last input end, and lifts what is held; what has not begun by then never does. Never rejects. */
  end(): Promise<void>;
}

export interface PersonInputOptions {
  readonly tabs: Tabs;
  readonly device: DeviceInput;
  readonly asking: Asking;
  readonly pickers: Pickers;
}

/** Whether the focus may be elsewhere after it. */
const mayFocus = (message: DeviceMessage): boolean =>
  (message.t === 'mouse' && message.kind === 'up') ||
  (message.t === 'touch' && message.kind === 'end') ||
  (message.t === 'key' && message.kind === 'down');

/**
 * Two inputs as one, where a page is slower than the hand: Chromium takes one move a picture, and a press behind many of them would come
 * seconds late. Undefined: each counts.
 */
function joinMessages(earlier: DeviceMessage, later: DeviceMessage): DeviceMessage | undefined {
  if (earlier.t === 'mouse' && later.t === 'mouse') {
    const isMove = earlier.kind === 'move' && later.kind === 'move';
    return isMove && earlier.buttons === later.buttons ? later : undefined;
  }
  if (earlier.t === 'touch' && later.t === 'touch') {
    const isMove = earlier.kind === 'move' && later.kind === 'move';
    return isMove && earlier.points.length === later.points.length ? later : undefined;
  }
  if (earlier.t === 'wheel' && later.t === 'wheel' && earlier.modifiers === later.modifiers)
    return { ...later, dx: earlier.dx + later.dx, dy: earlier.dy + later.dy };
  return undefined;
}

interface Waiting {
  readonly page: Page;
  message: DeviceMessage;
  readonly done: Promise<void>;
}

/** A page that hangs must not keep the browser from the agent. */
const END_MS = 1_000;

/** One input after the other, except those that end what an earlier one waits for. */
export function personInput({ tabs, device, asking, pickers }: PersonInputOptions): PersonInput {
  let last: Promise<unknown> = Promise.resolve();
  /** The newest input, while it has not begun. */
  let waiting: Waiting | undefined;
  /** How often control has ended: what was sent before and has not begun by then is of a person who may act no longer. */
  let ends = 0;

  /** Runs after the inputs before it, and no longer than until a dialog opens: Chromium answers a press only after that. */
  function inOrder<T>(page: Page, work: () => Promise<T>): Promise<T | undefined> {
    const before = ends;
    waiting = undefined;
    const mine = last.then(async () => {
      if (ends !== before) throw new Error('This came too late: control had ended.');
      const over = new AbortController();
      try {
        return await Promise.race([work(), asking.dialogOpens(page, over.signal).then(() => undefined)]);
      } finally {
        over.abort();
      }
    });
    last = mine.catch(() => undefined);
    return mine;
  }

  function operate(page: Page, message: DeviceMessage): Promise<void> {
    const both = waiting?.page === page ? joinMessages(waiting.message, message) : undefined;
    if (waiting !== undefined && both !== undefined) {
      waiting.message = both;
      return waiting.done;
    }
    const done: Promise<void> = inOrder(page, () => {
      if (waiting === mine) waiting = undefined;
      return device.send(page, mine.message);
    });
    const mine: Waiting = { page, message, done };
    waiting = mine;
    return done;
  }

  async function goto(page: Page, given: string): Promise<void> {
    const url = URL.canParse(given) && !/^[^/]+:\d+(\/|$)/.test(given) ? given : `https://${given}`;
    const closed = refusedUrl(url);
    if (closed !== undefined) throw new Error(`${closed.why} ${closed.instead}`);
    await page.goto(url, { timeout: NAVIGATION_MS, waitUntil: 'commit' });
  }

  async function history(page: Page, to: 'back' | 'forward' | 'reload'): Promise<void> {
    const options = { timeout: NAVIGATION_MS, waitUntil: 'commit' } as const;
    if (to === 'back') await page.goBack(options);
    else if (to === 'forward') await page.goForward(options);
    else await page.reload(options);
  }

  async function onTab(page: Page | undefined, what: 'show' | 'close'): Promise<void> {
    if (page === undefined) throw new Error('This tab is closed.');
    if (what === 'close') await page.close();
    else {
      tabs.show(page);
      await page.bringToFront();
    }
  }

  async function choose(page: Page, files: Extract<InputMessage, { t: 'files' }>['files']): Promise<void> {
    const bytes = files.reduce((sum, { base64 }) => sum + base64.length * 0.75, 0);
    if (bytes > LIVE_LIMITS.fileBytesMax)
      throw new Error(`A page gets ${LIVE_LIMITS.fileBytesMax / 1024 / 1024} MiB of files at once.`);
    await asking.choose(page, files);
  }

  return {
    async act(message) {
      const named = 'tab' in message ? tabs.page(message.tab) : undefined;
      if (message.t === 'tab') await onTab(tabs.page(message.id), message.do);
      else if (message.t === 'answer') {
        if (named !== undefined) await asking.answer(named, message.accept, message.text);
      } else if (message.t === 'pick') {
        if (named !== undefined) await inOrder(named, () => pickers.pick(named, message));
      } else if (message.t === 'files') {
        if (named !== undefined) await choose(named, message.files);
      } else {
        const page = tabs.shown();
        if (page === undefined) throw new Error('No tab is open.');
        if (message.t === 'nav') await inOrder(page, () => history(page, message.to));
        else if (message.t === 'goto') await inOrder(page, () => goto(page, message.url));
        else if (message.t === 'copy') return inOrder(page, () => device.selection(page));
        else {
          await operate(page, message);
          if (mayFocus(message)) pickers.acted(page);
        }
      }
      return undefined;
    },
    async end() {
      const page = tabs.shown();
      const lifted = last.then(() => page && device.lift(page)).catch(() => undefined);
      await Promise.race([lifted, new Promise(resolve => setTimeout(resolve, END_MS).unref())]);
      ends += 1;
    },
  };
}
