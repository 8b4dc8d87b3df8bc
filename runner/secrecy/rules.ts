import type { Page, Request } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';
import type { BeforeFill } from './before-fill.ts';
import type { Documents } from './documents.ts';
import type { FilledFields } from './filled-fields.ts';
import { movesClipboard, refusedKey } from './keys.ts';
import { type KnownNames, refusedSelector } from './selectors.ts';

/** What an agent may do where a page may hold a secret. */
export interface SecrecyRules {
  /** Why the call may not run now, and what to do instead; undefined: it may. */
  refusal(tool: string, args: Readonly<Record<string, unknown>>, page: Page): Promise<Refusal | undefined>;
}

export interface SecrecyRulesOptions {
  readonly documents: Documents;
  readonly fields: FilledFields;
  readonly before: BeforeFill;
  /** Whether the text would be compared with what the element of a target offers, and did not offer before the fill. */
  readonly choosesAnew: (page: Page, choice: Choice, before: BeforeFill) => Promise<boolean>;
  /** A request as Playwright MCP numbers it, from 1. */
  readonly requestAt: (page: Page, index: number) => Request | undefined;
}

/** What may choose by a text. */
export interface Choice {
  readonly target: string;
  readonly texts: readonly string[];
}

const closed = (why: string, instead: string): Refusal => ({ code: 'secret_on_page', why, instead });

const tainted = (what: string): Refusal =>
  closed(
    `This tab may hold a password or a code: ${what}.`,
    'Submit the form and go on from the page that follows, reload the page, or leave it. browser_snapshot shows it meanwhile.',
  );

/** They would tell what a page holds, move it, or run code in it. */
const CLOSED: Readonly<Record<string, string>> = {
  browser_console_messages: 'its console is closed',
  browser_drag: 'nothing is dragged',
  browser_drop: 'nothing is dropped',
  browser_find: 'nothing is searched for',
  browser_evaluate: 'no script of yours runs in it',
  browser_mouse_down: 'no text is selected and nothing is dragged',
  browser_mouse_drag_xy: 'no text is selected and nothing is dragged',
  browser_mouse_up: 'no text is selected and nothing is dragged',
  browser_network_request: 'its requests are closed',
};

/** Whatever tells of a page by other arguments than targets is in the functions below, or works on redacted text. */
const OPEN = new Set([
  'browser_click',
  'browser_close',
  'browser_fill_and_submit',
  'browser_fill_form',
  'browser_get_content',
  'browser_handle_dialog',
  'browser_hover',
  'browser_login',
  'browser_mouse_click_xy',
  'browser_mouse_move_xy',
  'browser_mouse_wheel',
  'browser_navigate',
  'browser_navigate_back',
  'browser_network_requests',
  'browser_open',
  'browser_press_key',
  'browser_resize',
  'browser_screenshot',
  'browser_scroll',
  'browser_select_option',
  'browser_snapshot',
  'browser_tabs',
  'browser_take_screenshot',
  'browser_type',
  'browser_wait',
  'browser_wait_for',
]);

/** One gate for every tool that uses the browser. */
export function secrecyRules({ documents, fields, before, choosesAnew, requestAt }: SecrecyRulesOptions): SecrecyRules {
  return {
    async refusal(tool, args, page) {
      if (!documents.isGuarding()) return undefined;
      const always = refusedAnywhere(tool, args);
      if (always !== undefined) return always;
      if (tool === 'browser_press_key') {
        const focus = await fields.focusOf(page);
        const refused = refusedKey(String(args.key), focus);
        return refused !== undefined && (focus === 'secret' || (await documents.isTainted(page))) ? refused : undefined;
      }
      if (tool === 'browser_network_request' && typeof args.index === 'number') {
        const request = requestAt(page, args.index);
        if (request !== undefined && documents.isFromTainted(request)) return SENT_BEFORE;
      }
      const refused = refusedTool(tool) ?? refusedTarget(args, before) ?? refusedArgument(tool, args);
      const choices = refused === undefined ? choicesOf(tool, args) : [];
      if (refused === undefined && choices.length === 0) return undefined;
      if (!(await documents.isTainted(page))) return undefined;
      for (const choice of choices) if (await choosesAnew(page, choice, before)) return CHOSEN_ANEW;
      return refused;
    },
  };
}

const SENT_BEFORE = closed(
  'This request was sent by a page that may have held a password or a code: its headers and bodies are closed.',
  'Reload the page that is shown now, and look at its own requests.',
);

const CHOSEN_ANEW = tainted('what it offers since the login is not chosen by a text');

/** A tool that nobody has judged is closed. */
function refusedTool(tool: string): Refusal | undefined {
  const what = Object.hasOwn(CLOSED, tool) ? CLOSED[tool] : undefined;
  if (what !== undefined) return tainted(what);
  return OPEN.has(tool) ? undefined : tainted(`${tool} is closed`);
}

/** Whatever names an element, at any depth: `target`, `startTarget`, `selector`, `submit_selector`. */
function refusedTarget(args: unknown, known: KnownNames): Refusal | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  for (const [name, value] of Object.entries(args)) {
    const isTarget = /(?:target|selector)$/i.test(name) && typeof value === 'string';
    const refused = isTarget ? refusedSelector(value, known) : refusedTarget(value, known);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function refusedArgument(tool: string, args: Readonly<Record<string, unknown>>): Refusal | undefined {
  if (tool === 'browser_snapshot' && args.boxes === true) return tainted('the places of its letters are not told');
  if (tool === 'browser_type' && args.slowly === true) return tainted('texts are put in whole, without "slowly"');
  const button = args.button ?? 'left';
  const modifiers = Array.isArray(args.modifiers) ? args.modifiers : [];
  if (button !== 'left' || modifiers.length > 0) return tainted('only plain left clicks are made');
  return undefined;
}

/** Where a call may choose by a text: whether that is offered is an answer. */
function choicesOf(tool: string, args: Readonly<Record<string, unknown>>): Choice[] {
  const fields = Array.isArray(args.fields) ? args.fields.map(Object) : [];
  const choosing: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
    browser_select_option: [args],
    browser_type: [args],
    browser_fill_form: fields.filter(({ type }) => type === 'combobox'),
    browser_fill_and_submit: fields,
  };
  const choices = Object.hasOwn(choosing, tool) ? (choosing[tool] ?? []) : [];
  return choices.flatMap(({ target, selector, text, value, values }) => {
    const texts = [text, value, ...(Array.isArray(values) ? values : [])].filter(each => typeof each === 'string');
    return [target, selector].filter(named => typeof named === 'string').map(named => ({ target: named, texts }));
  });
}

/**
 * What would carry a secret from one tab into another, ask a page about its text by way of its address, or show what a
 * document said or sent that is gone.
 */
function refusedAnywhere(tool: string, args: Readonly<Record<string, unknown>>): Refusal | undefined {
  if (typeof args.url === 'string' && /:~:|%3a~%3a/i.test(args.url))
    return closed(
      'An address that looks for a text (":~:") is not opened once a credential was filled in.',
      'Leave that part out.',
    );
  if (tool === 'browser_console_messages' && args.all === true)
    return closed('Messages of earlier pages are closed once a credential was filled in.', 'Leave "all" out.');
  if (tool === 'browser_network_request' && args.part === 'request-body')
    return closed('What was sent is closed once a credential was filled in.', 'The other parts are open.');
  if (args.button === 'middle' || (typeof args.key === 'string' && movesClipboard(args.key)))
    return closed('Nothing is pasted or copied once a credential was filled in.', 'Type the text with browser_type.');
  return undefined;
}
