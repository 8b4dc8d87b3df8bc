import type { ViewerMessage } from '../../../contract/live.ts';
import { frameInput } from './frame-input.ts';
import { modifiersOf } from './keyboard.ts';

export interface PointerOptions {
  readonly canvas: HTMLCanvasElement;
  readonly send: (message: ViewerMessage) => void;
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

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The place in the tab below a place in the window; beside the picture, the nearest in the tab. */
function tabPoint(
  canvas: HTMLCanvasElement,
  { cssWidth, cssHeight }: { cssWidth: number; cssHeight: number },
  { clientX, clientY }: { clientX: number; clientY: number },
): Point {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const within = (value: number, max: number) => Math.round(Math.max(0, Math.min(value, Math.max(0, max - 1))));
  return {
    x: within(((clientX - left) / width) * cssWidth, cssWidth),
    y: within(((clientY - top) / height) * cssHeight, cssHeight),
  };
}

/**
 * Sends what mouse, wheel and fingers do on the picture, moves at most once a frame. The returned function lifts what is held and ends
 * it.
 */
export function sendPointer({ canvas, send, size, onPress }: PointerOptions): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const held = new Set<Button>();
  let isTouching = false;
  let last: Point = { x: 0, y: 0 };
  const frame = frameInput(send);
  const place = (event: { clientX: number; clientY: number }): Point => {
    last = tabPoint(canvas, size() ?? { cssWidth: 0, cssHeight: 0 }, event);
    return last;
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
      frame.flush();
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
      frame.flush();
      send(mouse('up', event, button));
    },
    { signal },
  );
  addEventListener(
    'mousemove',
    event => {
      if (held.size === 0 && event.target !== canvas) return;
      const pressed = PRESSED.find((_, bit) => (event.buttons & (1 << bit)) !== 0) ?? 'none';
      frame.move(mouse('move', event, pressed));
    },
    { signal },
  );
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault();
      const unit = WHEEL_PX[event.deltaMode] ?? 1;
      const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
      frame.turn({ t: 'wheel', ...place(event), modifiers: modifiersOf(event), dx, dy });
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
      frame.move(message);
      return;
    }
    frame.flush();
    if (event.type === 'touchstart') onPress();
    send(message);
  }
  for (const name of ['touchstart', 'touchmove', 'touchend', 'touchcancel'] as const)
    canvas.addEventListener(name, touch, { signal, passive: false });

  function lift(): void {
    frame.flush();
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
