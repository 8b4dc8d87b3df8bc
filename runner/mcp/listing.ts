import type { Tool } from '@modelcontextprotocol/server';
import { toolSeconds } from './playwright-tools.ts';

/** How `tools/list` describes a tool of Playwright MCP. Every word costs each agent tokens in each turn. */
interface Words {
  readonly tool: string;
  /** Of arguments whose name and type do not say it. */
  readonly args?: Readonly<Record<string, string>>;
  /** Arguments that are taken, but not told: hardly a task needs them. */
  readonly untold?: readonly string[];
  /** Of a tool that does not only read: nothing is lost by it. */
  readonly destroysNothing?: true;
}

/** Said of the two tools that a task begins with: the others take the same. */
const TARGET = 'Ref (e12) or selector';

const WORDS: Readonly<Record<string, Words>> = {
  browser_click: { tool: 'Click an element', args: { target: TARGET }, untold: ['modifiers'] },
  browser_close: { tool: 'Close all tabs; one blank tab stays' },
  browser_console_messages: {
    tool: 'Console messages of the page',
    args: { level: 'And more severe (default info)', all: 'Of pages before as well' },
  },
  browser_drag: { tool: 'Drag one element onto another' },
  browser_drop: {
    tool: 'As if dragged from elsewhere',
    args: { paths: 'Names of browser_file_list', data: 'By MIME type' },
  },
  browser_evaluate: {
    tool: 'Run JavaScript in the page, or on one element',
    args: { function: '() => {...}, or element => {...} with a target' },
  },
  browser_file_upload: {
    tool: 'Answer a file chooser',
    args: { paths: 'Names of browser_file_list; left out: it is cancelled' },
  },
  browser_fill_form: {
    tool: 'Fill several fields at once',
    args: { value: 'Checkbox: true or false; combobox: the option’s text' },
  },
  browser_find: {
    tool: 'Find text in the snapshot: matching lines, with refs and surroundings',
    args: { regex: 'e.g. /total: \\d+/i' },
  },
  browser_handle_dialog: { tool: 'Accept or dismiss the open dialog' },
  browser_hover: { tool: 'Move the mouse over an element', destroysNothing: true },
  browser_mouse_click_xy: { tool: 'Click at coordinates of the viewport', untold: ['clickCount', 'delay'] },
  browser_mouse_down: { tool: 'Press a mouse button', untold: ['button'] },
  browser_mouse_drag_xy: { tool: 'Drag between two points' },
  browser_mouse_move_xy: { tool: 'Move to a point', destroysNothing: true },
  browser_mouse_up: { tool: 'Release a mouse button', untold: ['button'] },
  browser_mouse_wheel: { tool: 'Scroll by pixels', destroysNothing: true },
  browser_navigate: { tool: 'Go to a URL' },
  browser_navigate_back: { tool: 'Go back in the history' },
  browser_network_request: {
    tool: 'Headers and body of one request',
    args: { index: 'Of browser_network_requests', part: 'Left out: all' },
  },
  browser_network_requests: {
    tool: 'Numbered requests of the page',
    args: { static: 'Images, fonts, scripts as well', filter: 'Pattern of URLs' },
  },
  browser_press_key: { tool: 'Press a key', args: { key: 'e.g. Enter, ArrowLeft, a, Control+A' } },
  browser_resize: { tool: 'Resize the window', destroysNothing: true },
  browser_select_option: { tool: 'Select options of a list', args: { values: 'Texts or values' } },
  browser_snapshot: {
    tool: 'The page as a tree of elements, with refs for other tools',
    args: { target: 'Only this element' },
    untold: ['boxes'],
  },
  browser_tabs: {
    tool: 'List, open, close or select tabs',
    args: { index: 'Left out: the current one', url: 'For a new tab' },
  },
  browser_take_screenshot: {
    tool: 'Picture of what is visible, of the whole page, or of an element',
  },
  browser_type: {
    tool: 'Type into a field, in place of what it holds',
    args: { target: TARGET, submit: 'Then press Enter', slowly: 'Key by key' },
  },
  browser_wait_for: {
    tool: 'Wait for a text, for its end, or some time',
    args: { time: 'Seconds, at most 30' },
  },
};

/** What most tasks need, and no scripts: the toolset `core`. */
export const CORE: ReadonlySet<string> = new Set([
  ...['browser_navigate', 'browser_navigate_back', 'browser_tabs', 'browser_close'],
  ...['browser_snapshot', 'browser_find', 'browser_take_screenshot'],
  ...['browser_click', 'browser_type', 'browser_fill_form', 'browser_select_option', 'browser_press_key'],
  ...['browser_wait_for', 'browser_handle_dialog'],
]);

/**
 * Taken, but not told: a file on the runner's disk is of no use to a remote agent, the names of elements are for people, and one device
 * pixel is one of CSS here.
 */
const HIDDEN = ['filename', 'element', 'startElement', 'endElement', 'scale'];

interface Schema {
  readonly [key: string]: unknown;
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
}

/** What `tools/list` shows of a tool of Playwright MCP; undefined: nothing. */
export function listed(tool: Tool): Tool | undefined {
  const words = WORDS[tool.name];
  if (toolSeconds(tool.name) === undefined || words === undefined) return undefined;
  const { title, readOnlyHint } = tool.annotations ?? {};
  return {
    name: tool.name,
    ...(title === undefined ? {} : { title }),
    description: words.tool,
    // Playwright MCP's schemas are of objects, and so is what is left of them.
    inputSchema: leanSchema(tool.inputSchema as Schema, words) as Tool['inputSchema'],
    annotations: readOnlyHint ? { readOnlyHint } : { destructiveHint: words.destroysNothing !== true },
  };
}

/** Types and our own words; nothing that has a default is required. */
function leanSchema(schema: Schema, words: Words): Schema {
  const { type, enum: values, anyOf, properties, items, required = [] } = schema;
  const untold = [...HIDDEN, ...(words.untold ?? [])];
  const kept = Object.entries(properties ?? {}).filter(([name]) => !untold.includes(name));
  const needed = required.filter(name => properties?.[name]?.default === undefined);
  return {
    ...(type === undefined ? {} : { type }),
    ...(values === undefined ? {} : { enum: values }),
    ...(anyOf === undefined ? {} : { anyOf }),
    ...(items === undefined ? {} : { items: leanSchema(items, words) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(kept.map(([name, each]) => [name, described(name, each, words)])) }),
    ...(needed.length > 0 ? { required: needed } : {}),
  };
}

function described(name: string, schema: Schema, words: Words): Schema {
  const description = words.args?.[name];
  return { ...leanSchema(schema, words), ...(description === undefined ? {} : { description }) };
}
