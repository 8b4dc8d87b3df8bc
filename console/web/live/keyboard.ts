import type { ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';

type Send = (message: ViewerMessage) => void;

/** A key event while an input method works on it: its text comes by composition or input events. */
const PROCESSED_KEY = 229;
/** Left to the person's own browser. */
const LEFT_ALONE = new Set(['F5', 'F11', 'F12']);
const LEFT_ALONE_WITH_CTRL = new Set(['r', 'l', 'v']); // `v`: the paste event follows

export const modifiersOf = (event: {
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}): number => (event.altKey ? 1 : 0) + (event.ctrlKey ? 2 : 0) + (event.metaKey ? 4 : 0) + (event.shiftKey ? 8 : 0);

/**
 * Sends what is typed into a text area: keys of any layout, compositions of input methods, what a phone's keyboard inserts, and
 * pasted text. `onLeave` is called for Shift+Escape, by which the keyboard alone leaves the text area. The returned function lifts
 * what is held and ends it.
 */
export function sendKeys(area: HTMLTextAreaElement, send: Send, onLeave: () => void): () => void {
  const ended = new AbortController();
  const held = new Map<string, KeyboardEvent>();
  const on = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    listener: (event: HTMLElementEventMap[Name]) => void,
  ) => area.addEventListener(name, listener, { signal: ended.signal });

  function key(kind: 'down' | 'up', event: KeyboardEvent): void {
    const altGr = event.getModifierState('AltGraph');
    const modifiers = altGr ? (event.shiftKey ? 8 : 0) : modifiersOf(event);
    const isText = [...event.key].length === 1 && (modifiers & 6) === 0;
    const text = event.key === 'Enter' ? '\r' : isText ? event.key : undefined;
    send({
      t: 'key',
      kind,
      key: event.key,
      code: event.code,
      key_code: event.keyCode & 255,
      location: event.location,
      repeat: event.repeat,
      modifiers,
      ...(kind === 'down' && text !== undefined ? { text } : {}),
    });
  }

  function press(name: string, code: string, key_code: number): void {
    const message = { t: 'key', key: name, code, key_code, location: 0, repeat: false, modifiers: 0 } as const;
    send({ ...message, kind: 'down', ...(name === 'Enter' ? { text: '\r' } : {}) });
    send({ ...message, kind: 'up' });
  }

  function lift(): void {
    for (const event of held.values()) key('up', event);
    held.clear();
  }

  on('keydown', event => {
    if (event.isComposing || event.keyCode === PROCESSED_KEY || event.key === 'Dead') return;
    if (event.key === 'Escape' && event.shiftKey) {
      event.preventDefault();
      onLeave();
      return;
    }
    const command = event.ctrlKey || event.metaKey;
    const letter = event.key.toLowerCase();
    if (LEFT_ALONE.has(event.key) || (command && LEFT_ALONE_WITH_CTRL.has(letter))) return;
    event.preventDefault();
    if (command && (letter === 'c' || letter === 'x')) send({ t: 'copy' });
    if (command && letter === 'c') return;
    held.set(event.code, event);
    key('down', event);
  });
  on('keyup', event => {
    if (!held.delete(event.code)) return;
    event.preventDefault();
    key('up', event);
  });
  on('compositionupdate', ({ data }) => {
    const text = data.slice(0, LIVE_LIMITS.compositionMax);
    send({ t: 'ime', text, selection_start: text.length, selection_end: text.length });
  });
  on('compositionend', ({ data }) => {
    if (data === '') send({ t: 'ime', text: '', selection_start: 0, selection_end: 0 });
    else send({ t: 'text', text: data });
    area.value = '';
  });
  // Text that no key event has: a phone's keyboard, an emoji picker, dictation.
  on('input', event => {
    const { inputType, data, isComposing } = event as InputEvent; // of a text area
    if (isComposing || inputType === 'insertCompositionText' || inputType === 'insertFromComposition') return;
    if (inputType === 'insertLineBreak' || inputType === 'insertParagraph') press('Enter', 'Enter', 13);
    else if (inputType.startsWith('deleteContentBackward')) press('Backspace', 'Backspace', 8);
    else if (data) send({ t: 'text', text: data });
    area.value = '';
  });
  on('paste', event => {
    event.preventDefault();
    const text = event.clipboardData?.getData('text/plain').slice(0, LIVE_LIMITS.textMax) ?? '';
    if (text !== '') send({ t: 'text', text });
  });
  on('blur', lift);
  return () => {
    lift();
    ended.abort();
  };
}
