import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { InputMessage } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { within } from '../../time/within.ts';

/** Input of a person by mouse, keyboard, touch and input method, in the order in which it came. */
export type DeviceMessage = Extract<InputMessage, { t: 'mouse' | 'wheel' | 'key' | 'text' | 'ime' | 'touch' }>;

export interface DeviceInput {
  /** Rejects if the tab does not take it. A press that opens a dialog resolves only when that is answered. */
  send(page: Page, message: DeviceMessage): Promise<void>;
  /** The selected text, except that of a password field. */
  selection(page: Page): Promise<string>;
  /** Lifts what is held in the tab, and ends a composition. Rejects if the tab does not answer. */
  lift(page: Page): Promise<void>;
}

type MouseButton = 'none' | 'left' | 'middle' | 'right' | 'back' | 'forward';

interface PressedKey {
  readonly key: string;
  readonly code: string;
  readonly windowsVirtualKeyCode: number;
  readonly location: number;
}

interface Held {
  readonly buttons: Set<MouseButton>;
  readonly keys: Map<string, PressedKey>;
  composing: boolean;
  x: number;
  y: number;
}

const MOUSE = { down: 'mousePressed', up: 'mouseReleased', move: 'mouseMoved' } as const;
const TOUCH = { start: 'touchStart', move: 'touchMove', end: 'touchEnd', cancel: 'touchCancel' } as const;
/** Chromium on Linux takes these from a key event only as an editing command of its own. */
const COMMANDS: Readonly<Record<string, string>> = { a: 'selectAll', x: 'cut', z: 'undo', y: 'redo' };
const CTRL_OR_META = 6;
/** A frame that hangs does not answer. */
const SELECTION_MS = 1_000;

/** A document's selection, or that of the text field which has the focus. For a document in a frame: while the focus is there. */
const SELECTION = `(() => {
  let e = document.activeElement;
  if (e?.matches('iframe, frame') || (parent !== self && !document.hasFocus())) return '';
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  if (e?.type === 'password') return '';
  const inField = typeof e?.selectionStart === 'number' ? e.value.slice(e.selectionStart, e.selectionEnd) : '';
  return (inField || String(getSelection())).slice(0, ${LIVE_LIMITS.textMax});
})()`;

/** The protocol's event for a key that goes down: with a text, it types that. */
function keyDown({ key, repeat, modifiers, text }: Extract<DeviceMessage, { t: 'key' }>, pressed: PressedKey) {
  const command = (modifiers & CTRL_OR_META) === 0 ? undefined : COMMANDS[key.toLowerCase()];
  return {
    type: text === undefined ? 'rawKeyDown' : 'keyDown',
    ...pressed,
    modifiers,
    autoRepeat: repeat,
    ...(text === undefined ? {} : { text, unmodifiedText: text }),
    ...(command === undefined ? {} : { commands: [command] }),
  } as const;
}

/**
 * Input by CDP and not by Playwright's own mouse and keyboard, which know no letter that is on no US keyboard, and share
 * their state with the agent's tools.
 */
export function deviceInput(context: BrowserContext): DeviceInput {
  const sessions = new WeakMap<Page, Promise<CDPSession>>();
  const holds = new WeakMap<Page, Held>();

  function sessionOf(page: Page): Promise<CDPSession> {
    const session = sessions.get(page) ?? context.newCDPSession(page);
    sessions.set(page, session);
    return session;
  }

  function heldOf(page: Page): Held {
    const held = holds.get(page) ?? { buttons: new Set(), keys: new Map(), composing: false, x: 0, y: 0 };
    holds.set(page, held);
    return held;
  }

  async function mouse(page: Page, message: Extract<DeviceMessage, { t: 'mouse' }>): Promise<void> {
    const { kind, x, y, button, buttons, clicks, modifiers } = message;
    const session = await sessionOf(page);
    const held = heldOf(page);
    if (kind === 'down') held.buttons.add(button);
    if (kind === 'up') held.buttons.delete(button);
    Object.assign(held, { x, y });
    const pressed = kind === 'move' && buttons === 0 ? 'none' : button;
    await session.send('Input.dispatchMouseEvent', {
      type: MOUSE[kind],
      x,
      y,
      button: pressed,
      buttons,
      clickCount: clicks,
      modifiers,
    });
  }

  async function key(page: Page, message: Extract<DeviceMessage, { t: 'key' }>): Promise<void> {
    const { kind, key: name, code, key_code, location, modifiers } = message;
    const session = await sessionOf(page);
    const { keys } = heldOf(page);
    const pressed = { key: name, code, windowsVirtualKeyCode: key_code, location };
    if (kind === 'up') keys.delete(code);
    else keys.set(code, pressed);
    const event = kind === 'up' ? ({ type: 'keyUp', ...pressed, modifiers } as const) : keyDown(message, pressed);
    await session.send('Input.dispatchKeyEvent', event);
  }

  async function send(page: Page, message: DeviceMessage): Promise<void> {
    const session = await sessionOf(page);
    switch (message.t) {
      case 'mouse':
        return mouse(page, message);
      case 'key':
        return key(page, message);
      case 'wheel': {
        const { x, y, dx, dy, modifiers } = message;
        const wheel = { type: 'mouseWheel', x, y, deltaX: dx, deltaY: dy, modifiers } as const;
        await session.send('Input.dispatchMouseEvent', wheel);
        return;
      }
      case 'text':
        heldOf(page).composing = false;
        await session.send('Input.insertText', { text: message.text });
        return;
      case 'ime': {
        const { text, selection_start: selectionStart, selection_end: selectionEnd } = message;
        heldOf(page).composing = text !== '';
        await session.send('Input.imeSetComposition', { text, selectionStart, selectionEnd });
        return;
      }
      case 'touch':
        await session.send('Input.dispatchTouchEvent', { type: TOUCH[message.kind], touchPoints: message.points });
    }
  }

  return {
    send,
    async selection(page) {
      const found = page.frames().map(frame => within(frame.evaluate(SELECTION), SELECTION_MS, ''));
      return (await Promise.all(found)).find((text): text is string => typeof text === 'string' && text !== '') ?? '';
    },
    async lift(page) {
      const held = holds.get(page);
      if (held === undefined || page.isClosed()) return;
      holds.delete(page);
      const session = await sessionOf(page);
      const { x, y } = held;
      if (held.composing)
        await session.send('Input.imeSetComposition', { text: '', selectionStart: 0, selectionEnd: 0 });
      for (const button of held.buttons)
        await session.send('Input.dispatchMouseEvent', { type: 'mouseReleased', x, y, button, buttons: 0 });
      for (const event of held.keys.values()) await session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
  };
}
