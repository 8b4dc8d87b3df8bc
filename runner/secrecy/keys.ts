import type { Refusal } from '../../contract/tool-failure.ts';

/** They move the focus, send or leave; they neither edit nor select nor copy. */
const IN_SECRET_FIELD = ['Enter', 'NumpadEnter', 'Tab', 'Escape'];
const ELSEWHERE = [
  ...IN_SECRET_FIELD,
  'ArrowDown',
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'Backspace',
  'Delete',
  'End',
  'Home',
  'PageDown',
  'PageUp',
  'Space',
];

/** The target of keys: into a field that holds a secret, a list, or something else. */
export type Focus = 'secret' | 'list' | 'other';

/**
 * Why a key may not be pressed in a tab that may hold a secret, and what to do instead; undefined: it may. Keys that are
 * not listed are refused: every combination (`Control+z`, `Control++`), a modifier alone, and keys such as `Undo`, which
 * would bring a value back, move it or copy it.
 */
export function refusedKey(key: string, focus: Focus): Refusal | undefined {
  if (focus === 'secret') {
    if (IN_SECRET_FIELD.includes(key)) return undefined;
    return {
      code: 'secret_on_page',
      why: 'In a field that holds a credential only Enter, Tab and Escape are pressed.',
      instead: 'Fill the field with the name of a credential, or clear it with browser_type and an empty text.',
    };
  }
  if (ELSEWHERE.includes(key)) return undefined;
  // A list chooses by what is typed: what it offers may be made of the secret.
  if (focus !== 'list' && [...key].length === 1) return undefined;
  return {
    code: 'secret_on_page',
    why:
      'While this tab may hold a password or a code, only single characters (none in a list), Enter, Tab, Escape, Space, ' +
      'Backspace, Delete and the keys that move the cursor are pressed, without modifiers.',
    instead: 'Reload the page or leave it first.',
  };
}

/** Whether a key copies, cuts or pastes: so a page could hand a value on by way of the clipboard. */
export const movesClipboard = (key: string): boolean =>
  /(?:^|\+)(?:copy|cut|paste)$/i.test(key) ||
  /\+(?:key)?[cvx]$/i.test(key) ||
  /\+insert$/i.test(key) ||
  /shift\+delete$/i.test(key);
