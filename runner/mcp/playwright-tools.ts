import { FIRST_CHANGE_MS } from '../settle/settle.ts';

/**
 * The tools an agent gets, each with the seconds that one call may take. Everything else of Playwright MCP is neither
 * listed nor callable: above all `browser_run_code_unsafe`, which is code execution in this process, and the tools
 * that write files or rewrite requests here.
 */
const TOOL_SECONDS: Readonly<Record<string, number>> = {
  browser_click: 30,
  browser_close: 10,
  browser_console_messages: 10,
  browser_drag: 30,
  browser_drop: 30,
  browser_evaluate: 30,
  browser_file_upload: 30,
  browser_fill_form: 45,
  browser_find: 15,
  browser_handle_dialog: 30,
  browser_hover: 20,
  browser_mouse_click_xy: 20,
  browser_mouse_down: 20,
  browser_mouse_drag_xy: 20,
  browser_mouse_move_xy: 20,
  browser_mouse_up: 20,
  browser_mouse_wheel: 20,
  browser_navigate: 45,
  browser_navigate_back: 45,
  browser_network_request: 10,
  browser_network_requests: 10,
  browser_press_key: 30,
  browser_resize: 10,
  browser_select_option: 30,
  browser_snapshot: 20,
  browser_tabs: 45,
  browser_take_screenshot: 30,
  browser_type: 30,
  browser_wait_for: 45,
};

/** Seconds that a call of this tool may take; undefined: the tool is not for agents. */
export const toolSeconds = (name: string): number | undefined =>
  Object.hasOwn(TOOL_SECONDS, name) ? TOOL_SECONDS[name] : undefined;

/** Playwright MCP's tools of these groups; `vision` brings clicks by coordinates. */
export const CAPABILITIES = ['core', 'core-navigation', 'core-tabs', 'core-input', 'vision'] as const;

/** After these the page may look different: the result carries a new snapshot. */
export const SNAPSHOT_AFTER: ReadonlySet<string> = new Set([
  'browser_click',
  'browser_drag',
  'browser_drop',
  'browser_file_upload',
  'browser_fill_form',
  'browser_handle_dialog',
  'browser_mouse_click_xy',
  'browser_mouse_drag_xy',
  'browser_navigate',
  'browser_navigate_back',
  'browser_press_key',
  'browser_select_option',
  'browser_type',
  'browser_wait_for',
]);

/** What a page may answer later, and what it does only where something was touched. */
const ANSWERED = new Set([...SNAPSHOT_AFTER, 'browser_mouse_up'].filter(name => name !== 'browser_wait_for'));
const TOUCHING = new Set(['browser_evaluate', 'browser_navigate', 'browser_navigate_back']);

/** Milliseconds that the page has for its first change after a call of this tool; undefined: it has nothing to answer. */
export function firstChangeMs(name: string): number | undefined {
  if (TOUCHING.has(name)) return 0;
  return ANSWERED.has(name) ? FIRST_CHANGE_MS : undefined;
}

/** Arguments as they are passed on; `filename` would put the result into a file, `_meta` choose folders and output format. */
export function passedOn(args: Record<string, unknown>): Record<string, unknown> {
  const { filename: _filename, _meta, ...rest } = args;
  return rest;
}
