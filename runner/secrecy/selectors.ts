import { createRequire } from 'node:module';
import * as z from 'zod';
import type { Refusal } from '../../contract/tool-failure.ts';

/** One compound of a CSS selector: `css` as Playwright writes it anew, and the functions that Playwright evaluates. */
const compound = z.object({
  css: z.string().optional(),
  functions: z.array(z.object({ name: z.string(), args: z.array(z.unknown()) })),
});
const complex = z.object({ simples: z.array(z.object({ selector: compound, combinator: z.string() })) });
const selectors = z.array(complex);
const parsed = z.object({ parts: z.array(z.object({ name: z.string(), body: z.unknown() })) });

/** The functions with which Playwright itself, in the same pinned bundle, reads a target. */
const bundle = z.object({
  iso: z.object({
    locatorOrSelectorAsSelector: z.custom<(language: 'javascript', text: string, testIdAttribute: string) => string>(
      value => typeof value === 'function',
    ),
    parseSelector: z.custom<(selector: string) => unknown>(value => typeof value === 'function'),
  }),
});
const { iso } = bundle.parse(createRequire(import.meta.url)('playwright-core/lib/coreBundle'));

const REF = /^(f\d+)?e\d+$/;

/**
 * Why a target may not be looked for in a tab that may hold a secret, and what to do instead; undefined: it may. Whether
 * a target is found answers the question that it asks. Allowed is therefore only what asks for no value and no text: what is
 * not known to be harmless is refused.
 */
export function refusedSelector(target: string): Refusal | undefined {
  if (REF.test(target)) return undefined;
  const part = refusedPart(target);
  if (part === undefined) return undefined;
  return {
    code: 'selector_refused',
    why: `${part} may not be matched while this tab may hold a password or a code: the answer could tell about it.`,
    instead:
      'Use a ref of browser_snapshot (e12), or CSS of tags, #id, .class, [name="..."] and positions; or reload or leave the page.',
  };
}

/** What is refused of a target, in the agent's terms. */
function refusedPart(target: string): string | undefined {
  let parts: z.infer<typeof parsed>['parts'];
  try {
    parts = parsed.parse(iso.parseSelector(iso.locatorOrSelectorAsSelector('javascript', target, 'data-testid'))).parts;
  } catch {
    return 'a target that is no valid selector';
  }
  if (parts.length === 0) return 'an empty target';
  for (const { name, body } of parts) {
    const refused = name === 'css' ? refusedCss(body) : refusedEngine(name, body);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/** What other engines may be asked: none for a text, a name or a pattern. */
const ENGINES: Readonly<Record<string, RegExp>> = {
  'aria-ref': REF,
  'internal:control': /^enter-frame$/,
  'internal:role': /^[a-z]+$/,
  'internal:testid': /^\[data-testid="(?:[^"\\]|\\.)*"s\]$/,
  nth: /^-?\d+$/,
  role: /^[a-z]+$/,
};

function refusedEngine(name: string, body: unknown): string | undefined {
  const allowed = Object.hasOwn(ENGINES, name) ? ENGINES[name] : undefined;
  if (allowed === undefined) return `"${name}="`;
  return typeof body === 'string' && allowed.test(body) ? undefined : `"${name}=" with a name, a state or a pattern`;
}

/** Functions that only combine what they are given. */
const COMBINING = ['not', 'is', 'where', 'light'];

function refusedCss(body: unknown): string | undefined {
  const list = selectors.safeParse(body);
  if (!list.success) return 'this selector';
  for (const { selector } of list.data.flatMap(({ simples }) => simples)) {
    const refused = refusedCompound(selector.css ?? '') ?? refusedFunctions(selector.functions);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function refusedFunctions(functions: z.infer<typeof compound>['functions']): string | undefined {
  for (const { name, args } of functions) {
    // Playwright adds it by itself to a selector that begins with a combinator.
    if (name === 'scope' && args.length === 0) continue;
    if (!COMBINING.includes(name)) return `":${name}"`;
    const refused = refusedCss(args);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/** Attributes that name an element and do not hold what was typed into it. */
const ATTRIBUTES = 'autocomplete|data-test|data-testid|for|id|name|role|type';
/** They ask for a place in the tree only. Others ask for validity, emptiness, language or state: so for a value. */
const POSITIONS = '(?:first|last|only)-(?:child|of-type)|root';
/** No `of` here: its list is a selector again. */
const COUNTED = '(?:nth-child|nth-last-child|nth-of-type|nth-last-of-type)\\((?:\\s*(?:even|odd)\\s*|[-+0-9n\\s]+)\\)';
const ESCAPE = '\\\\(?:(?:[0-9a-f]{6}|[0-9a-f]{1,5}(?![0-9a-f]))\\s?|[^0-9a-f\\n])';
const NAME = `(?:[-\\w\\u0080-\\uffff]|${ESCAPE})+`;
const STRING = '"(?:[^"\\\\\\n]|\\\\[^\\n])*"';

/** Each alternative begins with another character, so that a text is read in one way only. */
const COMPOUND = new RegExp(
  `^(?:\\*|${NAME})?(?:#${NAME}|\\.${NAME}|\\[(?:${ATTRIBUTES})(?:=(?:${STRING}|${NAME}))?\\]|:(?:${POSITIONS}|${COUNTED}))*$`,
  'i',
);

/** The first thing in a refused compound that a reader would look for. */
const SUSPECT = /\[[^\]=~|^$*\s]*[~|^$*]?=?|::?[-\w]+/g;
const COMPOUND_CHARACTERS_MAX = 2_000;

function refusedCompound(css: string): string | undefined {
  if (css.length > COMPOUND_CHARACTERS_MAX) return 'a selector this long';
  if (COMPOUND.test(css)) return undefined;
  const suspects = css.match(SUSPECT) ?? [];
  const refused = suspects.find(each => !COMPOUND.test(each.startsWith('[') ? `${each.replace(/=$/, '')}]` : each));
  return refused === undefined ? 'this selector' : `"${refused}"`;
}
