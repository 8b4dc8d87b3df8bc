import type { ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';
import { modifiersOf } from './keyboard.ts';

type Send = (message: ViewerMessage) => void;

export interface PointerOptions {
  readonly canvas: HTMLCanvasElement;
  readonly send: Send;
  /** CSS pixels of the tab whose picture is shown; undefined: none is. */
  readonly size: () => { readonly cssWidth: number; readonly cssHeight: number } | undefined;
  /** A press on the picture: keys go to the page from now on. */
  readonly onPress: () => void;
}

const BUTTONS = ['left', 'middle', 'right', 'back', 'forward'] as const;
type Button = (typeof BUTTONS)[number] | 'none';
/** `MouseEvent.buttons`, from its lowest bit. */
const PRESSED = ['left', 'right', 'middle', 'back', 'forward'] as const;
/** For a wheel that counts lines or pages. */
const WHEEL_PX = [1, 40, 800] as const;

const clampWheel = (pixels: number): number => Math.max(-LIVE_LIMITS.wheelMax, Math.min(LIVE_LIMITS.wheelMax, pixels));

/**
 * Sends what mouse, wheel and fingers do on the picture, moves at most once a frame. The returned function lifts what is held and ends
 * it.
 */
export function sendPointer({ canvas, send, size, onPress }: PointerOptions): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const held = new Set<Button>();
  let isTouching = false;
  let last = { x: 0, y: 0 };
  let wheel: Extract<ViewerMessage, { t: 'wheel' }> | undefined;
  let move: ViewerMessage | undefined;
  let frame = 0;

  function place({ clientX, clientY }: { clientX: number; clientY: number }): { x: number; y: number } {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const { cssWidth, cssHeight } = size() ?? { cssWidth: 0, cssHeight: 0 };
    const within = (value: number, max: number) => Math.round(Math.max(0, Math.min(value, Math.max(0, max - 1))));
    last = {
      x: within(((clientX - left) / width) * cssWidth, cssWidth),
      y: within(((clientY - top) / height) * cssHeight, cssHeight),
    };
    return last;
  }

  /** Input that waits for the frame is sent before later input. */
  function flush(): void {
    cancelAnimationFrame(frame);
    frame = 0;
    if (move) send(move);
    if (wheel) send(wheel);
    move = undefined;
    wheel = undefined;
  }
  const soon = () => {
    if (frame === 0) frame = requestAnimationFrame(flush);
  };

  function mouse(kind: 'down' | 'up' | 'move', event: MouseEvent, button: Button): ViewerMessage {
    const buttons = event.buttons & 31;
    const clicks = kind === 'move' ? 0 : Math.min(3, Math.max(1, event.detail));
    return { t: 'mouse', kind, ...place(event), button, buttons, clicks, modifiers: modifiersOf(event) };
  }

  canvas.addEventListener(
    'mousedown',
    event => {
      if (size() === undefined) return;
      event.preventDefault(); // or the text area would lose the focus that it gets here
      onPress();
      flush();
      const button = BUTTONS[event.button] ?? 'left';
      held.add(button);
      send(mouse('down', event, button));
    },
    { signal },
  );
  // Beside the picture too: a drag may leave it.
  addEventListener(
    'mouseup',
    event => {
      const button = BUTTONS[event.button] ?? 'left';
      if (!held.delete(button)) return;
      flush();
      send(mouse('up', event, button));
    },
    { signal },
  );
  addEventListener(
    'mousemove',
    event => {
      if (held.size === 0 && event.target !== canvas) return;
      const pressed = PRESSED.find((_, bit) => (event.buttons & (1 << bit)) !== 0) ?? 'none';
      move = mouse('move', event, pressed);
      soon();
    },
    { signal },
  );
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault();
      const unit = WHEEL_PX[event.deltaMode] ?? 1;
      wheel = {
        t: 'wheel',
        ...place(event),
        modifiers: modifiersOf(event),
        dx: clampWheel((wheel?.dx ?? 0) + event.deltaX * unit),
        dy: clampWheel((wheel?.dy ?? 0) + event.deltaY * unit),
      };
      soon();
    },
    { signal, passive: false },
  );
  canvas.addEventListener('contextmenu', event => event.preventDefault(), { signal });

  function touch(event: TouchEvent): void {
    event.preventDefault(); // no emulated mouse follows
    const points = [...event.targetTouches].slice(0, 10).map(point => ({ id: point.identifier & 15, ...place(point) }));
    // The protocol lifts one of several fingers by a move without it.
    const kind = points.length === 0 ? 'end' : event.type === 'touchstart' ? 'start' : 'move';
    const message: ViewerMessage = { t: 'touch', kind, points };
    isTouching = points.length > 0;
    if (event.type === 'touchmove') {
      move = message;
      soon();
      return;
    }
    flush();
    if (event.type === 'touchstart') onPress();
    send(message);
  }
  for (const name of ['touchstart', 'touchmove', 'touchend', 'touchcancel'] as const)
    canvas.addEventListener(name, touch, { signal, passive: false });

  function lift(): void {
    flush();
    for (const button of held) send({ t: 'mouse', kind: 'up', ...last, button, buttons: 0, clicks: 1, modifiers: 0 });
    held.clear();
    if (isTouching) send({ t: 'touch', kind: 'cancel', points: [] });
    isTouching = false;
  }
  addEventListener('blur', lift, { signal });
  return () => {
    lift();
    ended.abort();
  };
}
