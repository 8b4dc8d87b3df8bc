import type { Page, Request } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';
import { findKey } from '../browser/key-names.ts';
import type { BeforeFill } from './before-fill.ts';
import type { Documents } from './documents.ts';
import type { FilledFields } from './filled-fields.ts';
import { movesClipboard, refusedKey } from './keys.ts';
import { type KnownNames, refusedSelector } from './selectors.ts';

/** Rules for the calls of one tool while a tab may hold a secret. */
export type WhileTainted =
  /** Is never asked: it does not use the page, or ends a dialog, behind which no page answers. */
  | 'exempt'
  /** Names elements alone, or works on texts without secrets. */
  | 'open'
  | ToolRules;

export interface ToolRules {
  /** Refused in a tainted tab, whatever its arguments are: the end of a sentence that says why. */
  readonly closed?: string;
  /** Refused in a tainted tab by its arguments: as `closed`. */
  readonly refusedArgument?: (args: Arguments) => string | undefined;
  /** Refused in any tab once a credential was filled in. */
  readonly refusedAnywhere?: (args: Arguments) => Refusal | undefined;
  /** Texts by which a call may choose: whether that is offered is an answer. */
  readonly choices?: (args: Arguments) => Choice[];
  /** A key goes to the element that has the focus, and is judged by that alone. */
  readonly pressesKey?: true;
  /** The number by which Playwright MCP calls a request, from 1. */
  readonly requestIndex?: (args: Arguments) => number | undefined;
}

type Arguments = Readonly<Record<string, unknown>>;

/** A tool as the rules see it. */
interface JudgedTool {
  readonly whileTainted: WhileTainted;
}

/** Rules for an agent's calls where a page may hold a secret. */
export interface SecrecyRules {
  /** Why the call may not run now, and what to do instead; undefined: it may. */
  refusal(tool: JudgedTool, args: Arguments, page: Page): Promise<Refusal | undefined>;
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

/** Texts that are compared with the options of an element. */
export interface Choice {
  readonly target: string;
  readonly texts: readonly string[];
  /** The text is looked for among the options of a field into which other tools type it. */
  readonly isNeverTyped?: boolean;
}

/** A refusal that holds once a credential was filled in. */
export const closedSecret = (why: string, instead: string): Refusal => ({ code: 'secret_on_page', why, instead });

const tainted = (what: string): Refusal =>
  closedSecret(
    `This tab may hold a password or a code: ${what}.`,
    'Submit the form and go on from the page that follows, reload the page, or leave it. browser_snapshot shows it meanwhile.',
  );

const taintedWhere = (what: string | undefined): Refusal | undefined =>
  what === undefined ? undefined : tainted(what);

/** One gate for every tool that uses the browser. */
export function secrecyRules({ documents, fields, before, choosesAnew, requestAt }: SecrecyRulesOptions): SecrecyRules {
  return {
    async refusal({ whileTainted }, args, page) {
      if (whileTainted === 'exempt' || !documents.isGuarding()) return undefined;
      const rules = whileTainted === 'open' ? NO_RULES : whileTainted;
      const always = refusedAnywhere(args) ?? rules.refusedAnywhere?.(args);
      if (always !== undefined) return always;
      if (rules.pressesKey) {
        const focus = await fields.focusOf(page);
        const refused = refusedKey(pressed(args.key), focus);
        return refused !== undefined && (focus === 'secret' || (await documents.isTainted(page))) ? refused : undefined;
      }
      const index = rules.requestIndex?.(args);
      const request = index === undefined ? undefined : requestAt(page, index);
      if (request !== undefined && documents.isFromTainted(request)) return SENT_BEFORE;
      const refused =
        taintedWhere(rules.closed) ??
        refusedTarget(args, before) ??
        taintedWhere(rules.refusedArgument?.(args)) ??
        refusedClick(args);
      const choices = refused === undefined ? (rules.choices?.(args) ?? []) : [];
      if (refused === undefined && choices.length === 0) return undefined;
      if (!(await documents.isTainted(page))) return undefined;
      for (const choice of choices) if (await choosesAnew(page, choice, before)) return CHOSEN_ANEW;
      return refused;
    },
  };
}

const NO_RULES: ToolRules = {};

/** The key that is pressed, whatever spelling the agent chose. */
const pressed = (key: unknown): string => findKey(String(key)) ?? String(key);

const SENT_BEFORE = closedSecret(
  'This request was sent by a page that may have held a password or a code: its headers and bodies are closed.',
  'Reload the page that is shown now, and look at its own requests.',
);

const CHOSEN_ANEW = tainted('what it offers since the login is not chosen by a text');

/** Any argument that names an element, at any depth: `target`, `startTarget`, `selector`, `submit_selector`. */
function refusedTarget(args: unknown, known: KnownNames): Refusal | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  for (const [name, value] of Object.entries(args)) {
    const isTarget = /(?:target|selector)$/i.test(name) && typeof value === 'string';
    const refused = isTarget ? refusedSelector(value, known) : refusedTarget(value, known);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function refusedClick(args: Arguments): Refusal | undefined {
  const button = args.button ?? 'left';
  const modifiers = Array.isArray(args.modifiers) ? args.modifiers : [];
  return button !== 'left' || modifiers.length > 0 ? tainted('only plain left clicks are made') : undefined;
}

/** The choices of these fields: each names a target, and one text or several. */
export const choicesOfFields = (fields: readonly Arguments[]): Choice[] =>
  fields.flatMap(({ target, selector, text, value, values }) => {
    const texts = [text, value, ...(Array.isArray(values) ? values : [])].filter(each => typeof each === 'string');
    return [target, selector].filter(named => typeof named === 'string').map(named => ({ target: named, texts }));
  });

/** A call with fields, each with a target and a text. */
export const fieldsIn = ({ fields }: Arguments): Arguments[] => (Array.isArray(fields) ? fields.map(Object) : []);

/** Arguments that would carry a secret from one tab into another, or ask a page about its text by way of its address. */
function refusedAnywhere(args: Arguments): Refusal | undefined {
  if (typeof args.url === 'string' && /:~:|%3a~%3a/i.test(args.url))
    return closedSecret(
      'An address that looks for a text (":~:") is not opened once a credential was filled in.',
      'Leave that part out.',
    );
  if (args.button === 'middle' || (typeof args.key === 'string' && movesClipboard(pressed(args.key))))
    return closedSecret(
      'Nothing is pasted or copied once a credential was filled in.',
      'Type the text with browser_type.',
    );
  return undefined;
}
