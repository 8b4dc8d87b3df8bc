/**
 * Names of keys as models and people write them: Ctrl+A, esc, Return, page_down, Cmd-K. Playwright knows one spelling of each, and counts
 * cases.
 */

const MODIFIERS = ['Control', 'Shift', 'Alt', 'Meta', 'ControlOrMeta'];

/** Keys with a name of more than one character, as Playwright spells them. */
const NAMES = [
  ...MODIFIERS,
  ...['ControlLeft', 'ControlRight', 'ShiftLeft', 'ShiftRight', 'AltLeft', 'AltRight', 'AltGraph', 'MetaLeft'],
  ...['MetaRight', 'Escape', 'Backspace', 'Tab', 'CapsLock', 'Enter', 'Space', 'ContextMenu', 'PrintScreen'],
  ...['ScrollLock', 'Pause', 'PageUp', 'PageDown', 'Insert', 'Delete', 'Home', 'End', 'ArrowLeft', 'ArrowUp'],
  ...['ArrowRight', 'ArrowDown', 'NumLock', 'AudioVolumeMute', 'AudioVolumeDown', 'AudioVolumeUp', 'MediaTrackNext'],
  ...['MediaTrackPrevious', 'MediaPlayPause', 'NumpadDivide', 'NumpadMultiply', 'NumpadSubtract', 'NumpadAdd'],
  ...['NumpadDecimal', 'NumpadEnter', 'Backquote', 'Minus', 'Equal', 'Backslash', 'BracketLeft', 'BracketRight'],
  ...['Semicolon', 'Quote', 'Comma', 'Period', 'Slash'],
  ...Array.from({ length: 12 }, (_, index) => `F${index + 1}`),
  ...Array.from({ length: 10 }, (_, digit) => [`Numpad${digit}`, `Digit${digit}`]).flat(),
  ...[...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].map(letter => `Key${letter}`),
];

const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  Control: ['ctrl', 'ctl', 'strg', '⌃'],
  Meta: ['cmd', 'command', 'win', 'windows', 'super', '⌘'],
  Alt: ['opt', 'option', '⌥'],
  Shift: ['⇧'],
  ControlOrMeta: ['ctrlormeta', 'ctrlorcmd', 'cmdorctrl', 'commandorcontrol', 'controlorcommand', 'mod', 'accel'],
  Escape: ['esc', '⎋'],
  Enter: ['return', 'ret', '\n', '\r', '↵', '⏎'],
  Tab: ['\t', '⇥'],
  Backspace: ['bksp', 'bs', 'back', '⌫'],
  Delete: ['del', '⌦'],
  Insert: ['ins'],
  ArrowUp: ['up', 'uparrow', '↑'],
  ArrowDown: ['down', 'downarrow', '↓'],
  ArrowLeft: ['left', 'leftarrow', '←'],
  ArrowRight: ['right', 'rightarrow', '→'],
  PageUp: ['pgup', 'prior', '⇞'],
  PageDown: ['pgdn', 'pgdown', 'next', '⇟'],
  Space: ['spacebar', 'spc'],
  ContextMenu: ['menu', 'apps'],
  PrintScreen: ['prtsc', 'prtscr', 'printscrn'],
  '+': ['plus'],
  '-': ['hyphen', 'dash'],
  '=': ['equals'],
  '.': ['dot', 'fullstop'],
  '`': ['backtick'],
  '*': ['asterisk', 'star'],
  '?': ['questionmark'],
};

const KEYS = new Map([
  ...NAMES.map(name => [name.toLowerCase(), name] as const),
  ...Object.entries(OTHER_NAMES).flatMap(([name, others]) => others.map(other => [other, name] as const)),
]);

/** The key in Playwright's spelling, its modifiers before it; undefined: no key has this name. */
export function findKey(text: string): string | undefined {
  const named = /^(?:<(.+)>|\{(.+)\}|\[(.+)\]|keys?\.(.+))$/is.exec(text)?.slice(1).find(Boolean) ?? text;
  // As a Mac's menus write them: ⇧⌘K.
  const apart = named.replace(/([⌃⌘⌥⇧])(?=[^+\s-])/g, '$1+');
  return combination(apart, '+') ?? combination(apart, '-');
}

function combination(text: string, separator: '+' | '-'): string | undefined {
  const parts = splitAt(text, separator).map(keyOf);
  const modifiers = parts.slice(0, -1);
  const isCombination = modifiers.every(part => part !== undefined && MODIFIERS_HELD.test(part));
  if (!isCombination || parts.includes(undefined)) return undefined;
  // Pages hear a capital letter while Shift is held, which Playwright leaves to its caller.
  const isShifted = modifiers.some(part => part?.startsWith('Shift'));
  return parts.map(part => (isShifted && part?.length === 1 ? part.toUpperCase() : part)).join('+');
}

const MODIFIERS_HELD = new RegExp(`^(?:${MODIFIERS.join('|')})(?:Left|Right)?$`);

/** A separator right after another one is a key itself: `Control++`. */
function splitAt(text: string, separator: string): string[] {
  const parts = [''];
  for (const character of text)
    if (character === separator && parts.at(-1) !== '') parts.push('');
    else parts[parts.length - 1] += character;
  return parts;
}

function keyOf(text: string): string | undefined {
  if ([...text].length === 1 && !KEYS.has(text)) return text;
  const trimmed = text.trim();
  if ([...trimmed].length === 1 && !KEYS.has(trimmed)) return trimmed;
  return KEYS.get(text) ?? KEYS.get(trimmed.toLowerCase().replace(/[\s_-]|(?<=.)key$/g, ''));
}
