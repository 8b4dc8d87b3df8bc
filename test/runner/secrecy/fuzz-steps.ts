import type { Toolset } from '../../../contract/assignment.ts';

/** One call of a tool. */
export interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * The address of the tab: on a page with the form, with its password field or without, behind a dialog; on the next page;
 * or who knows.
 */
export type Place = 'form' | 'without-field' | 'dialog' | 'sent' | 'unknown';

/** Calls of which one is made: where they are of use (an element that is not there costs seconds), and where they lead. */
export interface Step {
  /** How often, beside the other steps. */
  readonly weight: number;
  readonly at: readonly Place[];
  readonly to?: Place;
  readonly calls: readonly Call[];
}

export const FIELD: readonly Place[] = ['form'];
export const FORM: readonly Place[] = ['form', 'without-field'];
export const ANYWHERE: readonly Place[] = ['form', 'without-field', 'sent', 'unknown'];

export const calls = (tool: string, ...args: readonly Call['args'][]): Call[] =>
  args.map(each => ({ tool, args: each }));

/** They ask for the value. */
const GUESSES = ['#p[value^="T"]', '#out:has-text("T")', 'text=Tr0', '#p:not([value="x"])', "getByText('T')"];
const SCRIPTS = [
  '() => [...document.querySelectorAll("input, textarea")].map(each => [...each.value])',
  '() => document.documentElement.outerHTML',
  '() => [document.title, location.href, document.referrer, document.cookie, JSON.stringify(localStorage)]',
  '() => getSelection().toString()',
];
const PARTS = ['request-headers', 'request-body', 'response-headers', 'response-body'];
const KEYS = 'Tab Backspace a End Escape Control+z Control+a Control+c Control+v Shift+Home Undo'.split(' ');
const BUTTONS = ['toggle', 'other', 'move', 'trim', 'half', 'redraw', 'log', 'keep', 'address', 'copy', 'fetch'];

/** Acts of both toolsets, under names of arguments of their own. `go` opens a page of the site. */
export function commonSteps(target: 'selector' | 'target', go: (page: string) => Call): Step[] {
  const click = (...ids: readonly string[]) => calls('browser_click', ...ids.map(id => ({ [target]: `#${id}` })));
  const type = (id: string, text: string) => calls('browser_type', { [target]: `#${id}`, text });
  const formats = ['text', 'html', 'accessibility', 'links'].map(format => ({ format }));
  return [
    { weight: 8, at: FIELD, calls: click(...BUTTONS) },
    { weight: 2, at: FIELD, calls: click('detach'), to: 'without-field' },
    { weight: 1, at: FORM, calls: click('attach'), to: 'form' },
    { weight: 2, at: FORM, calls: click('undo') },
    { weight: 2, at: FORM, calls: click('send'), to: 'sent' },
    { weight: 1, at: FIELD, calls: click('popup'), to: 'unknown' },
    { weight: 1, at: FIELD, calls: click('ask'), to: 'dialog' },
    { weight: 8, at: ['dialog'], calls: calls('browser_handle_dialog', { accept: true }), to: 'form' },
    { weight: 2, at: ['dialog'], calls: calls('browser_get_content', { format: 'text' }) },
    { weight: 1, at: ['sent'], calls: click('on'), to: 'unknown' },
    { weight: 3, at: FIELD, calls: [type('p', ''), type('p', 'mine'), type('q', 'mine')].flat() },
    { weight: 4, at: ANYWHERE, calls: calls('browser_get_content', ...formats) },
    { weight: 2, at: ANYWHERE, calls: calls('browser_screenshot', {}, { fullPage: true }) },
    { weight: 1, at: ANYWHERE, calls: calls('browser_scroll', { direction: 'down' }) },
    { weight: 1, at: ANYWHERE, calls: calls('browser_wait', { ms: 50 }, { ms: 250 }) },
    { weight: 1, at: FORM, calls: calls('browser_wait', ...GUESSES.map(selector => ({ selector, ms: 50 }))) },
    { weight: 1, at: FORM, calls: calls('browser_click', ...GUESSES.map(guess => ({ [target]: guess }))) },
    { weight: 1, at: ANYWHERE, calls: [go('blank')], to: 'unknown' },
  ];
}

/** Acts of Playwright MCP's tools alone. */
export const PLAYWRIGHT_STEPS: readonly Step[] = [
  { weight: 5, at: ANYWHERE, calls: calls('browser_evaluate', ...SCRIPTS.map(script => ({ function: script }))) },
  { weight: 4, at: ANYWHERE, calls: calls('browser_snapshot', {}, { depth: 3 }, { boxes: true }) },
  { weight: 1, at: FORM, calls: calls('browser_snapshot', { target: '#login' }, { target: '#out' }) },
  { weight: 2, at: ANYWHERE, calls: calls('browser_find', { text: 'T' }, { text: 'Tr0ub4' }) },
  { weight: 1, at: ANYWHERE, calls: calls('browser_find', { regex: '.' }, { regex: 'Tr0.*' }) },
  { weight: 2, at: FORM, calls: calls('browser_wait_for', { text: 'Tr0' }, { textGone: 'Tr0' }, { time: 0.05 }) },
  { weight: 1, at: ANYWHERE, calls: calls('browser_network_requests', { static: true }) },
  {
    weight: 2,
    at: ANYWHERE,
    calls: calls('browser_network_requests', { static: true, filter: 'password=T' }, { static: true, filter: '.*' }),
  },
  { weight: 2, at: ANYWHERE, calls: calls('browser_network_request', ...PARTS.map(part => ({ index: 1, part }))) },
  {
    weight: 2,
    at: ANYWHERE,
    calls: calls('browser_console_messages', { level: 'debug' }, { level: 'error', all: true }),
  },
  { weight: 5, at: ANYWHERE, calls: calls('browser_press_key', ...KEYS.map(key => ({ key }))) },
  { weight: 1, at: ANYWHERE, calls: calls('browser_press_key', { key: 'Enter' }), to: 'unknown' },
  { weight: 2, at: ANYWHERE, calls: calls('browser_mouse_move_xy', { x: 60, y: 20 }, { x: 400, y: 20 }) },
  { weight: 1, at: FORM, calls: calls('browser_mouse_click_xy', { x: 60, y: 20 }, { x: 900, y: 700 }) },
  { weight: 1, at: FORM, calls: calls('browser_mouse_click_xy', { x: 60, y: 20, clickCount: 3 }) },
  { weight: 1, at: ANYWHERE, calls: [...calls('browser_mouse_down', {}), ...calls('browser_mouse_up', {})] },
  { weight: 1, at: ANYWHERE, calls: calls('browser_mouse_drag_xy', { startX: 20, startY: 20, endX: 400, endY: 20 }) },
  { weight: 1, at: ANYWHERE, calls: calls('browser_mouse_wheel', { deltaX: 0, deltaY: 100 }) },
  { weight: 1, at: FIELD, calls: calls('browser_drag', { startTarget: '#p', endTarget: '#q' }) },
  { weight: 1, at: FIELD, calls: calls('browser_hover', { target: '#p' }) },
  { weight: 1, at: FIELD, calls: calls('browser_type', { target: '#p', text: 'x', slowly: true }) },
  {
    weight: 2,
    at: ANYWHERE,
    calls: calls('browser_take_screenshot', { type: 'jpeg' }, { type: 'jpeg', fullPage: true }),
  },
  { weight: 1, at: FIELD, calls: calls('browser_take_screenshot', { type: 'png', target: '#login' }) },
  { weight: 1, at: ANYWHERE, calls: calls('browser_tabs', { action: 'list' }) },
  { weight: 1, at: ANYWHERE, calls: calls('browser_navigate_back', {}), to: 'unknown' },
];

/** Acts of the compatible tools alone. */
export const COMPATIBLE_STEPS: readonly Step[] = [
  { weight: 1, at: FORM, calls: calls('browser_click', { x: 60, y: 20 }, { x: 900, y: 700 }) },
  {
    weight: 1,
    at: FIELD,
    calls: calls('browser_fill_and_submit', { fields: [{ selector: '#q', value: 'mine' }], submitSelector: '#other' }),
  },
];

/** The ways of filling in a password by its name; one that presses Enter leads to the next page. */
export function fillSteps(toolset: Toolset, target: 'selector' | 'target', name: string): Step[] {
  const login = { site: name.replace('_PASSWORD', '').toLowerCase(), passwordSelector: '#p' };
  const fields = [{ selector: '#p', value: name }];
  const form = [{ target: '#p', name: 'Password', type: 'textbox', value: name }];
  return [
    { weight: 3, at: FORM, calls: calls('browser_type', { [target]: '#p', text: name }) },
    ...(toolset === 'compat' ? [] : [{ weight: 1, at: FORM, calls: calls('browser_fill_form', { fields: form }) }]),
    { weight: 1, at: FORM, calls: calls('browser_login', { ...login, submitSelector: '#toggle' }) },
    { weight: 1, at: FORM, calls: calls('browser_login', login), to: 'sent' },
    { weight: 1, at: FORM, calls: calls('browser_fill_and_submit', { fields, submitSelector: '#other' }) },
    { weight: 1, at: FORM, calls: calls('browser_fill_and_submit', { fields }), to: 'sent' },
  ];
}
