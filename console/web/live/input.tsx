import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ViewerMessage } from '../../../contract/live.ts';
import { sendKeys } from './keyboard.ts';
import type { Painter } from './painter.ts';
import { sendPointer } from './pointer.ts';

export interface InputProps {
  pictures: Painter;
  canvas: { current: HTMLCanvasElement | null };
  send: (message: ViewerMessage) => void;
  /** Whether keys go to the browser at once, and not only after a press on the picture. */
  takesFocus: boolean;
}

/** Takes mouse, fingers and keys while this page has control. */
export function Input({ pictures, canvas, send, takesFocus }: InputProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  // With the words that say who has control: a press right after them counts.
  useLayoutEffect(() => {
    if (canvas.current === null || area.current === null) return;
    const keyboard = area.current;
    const focus = () => keyboard.focus({ preventScroll: true });
    const leave = () => keyboard.closest('.live')?.querySelector<HTMLElement>('.control')?.focus();
    const ends = [
      sendKeys(keyboard, send, leave),
      sendPointer({ canvas: canvas.current, send, size: pictures.shown, onPress: focus }),
    ];
    if (takesFocus) focus();
    return () => {
      for (const end of ends) end();
    };
  }, [send, pictures, canvas]);
  return (
    <textarea
      ref={area}
      class="keys"
      aria-label="Keyboard of the browser; Shift+Escape leaves it"
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
    />
  );
}
