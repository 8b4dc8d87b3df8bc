import * as z from 'zod';
import type { Refusal } from '../../contract/tool-failure.ts';
import { parseSelector, readSelector } from '../browser/playwright-selectors.ts';
import type { BeforeFill } from './before-fill.ts';

/** One compound of a CSS selector: `css` as Playwright rewrites it, and the functions that Playwright evaluates. */
const compound = z.object({
  css: z.string().optional(),
  functions: z.array(z.object({ name: z.string(), args: z.array(z.unknown()) })),
});
const complex = z.object({ simples: z.array(z.object({ selector: compound, combinator: z.string() })) });
const selectors = z.array(complex);
const parsed = z.object({ parts: z.array(z.object({ name: z.string(), body: z.unknown() })) });

const REF = /^(f\d+)?e\d+$/;

/** Names of a page that were known before a secret went into it. */
export type KnownNames = Pick<BeforeFill, 'hasName' | 'wasShown'>;

/**
 * Why a target may not be looked for in a tab that may hold a secret, and what to do instead; undefined: it may. Whether
 * a target is found answers the question that it asks. Allowed is therefore only what asks for no value, no text, and no name
 * that came after the secret, of which it may be made: what is not known to be harmless is refused.
 */
export function refusedSelector(target: string, known: KnownNames): Refusal | undefined {
  if (REF.test(target) || known.wasShown(target)) return undefined;
  const part = refusedPart(target, known.hasName);
  if (part === undefined) return undefined;
  return {
    code: 'selector_refused',
    why: `${part} may not be matched while this tab may hold a password or a code: the answer could tell about it.`,
    instead:
      'Use a ref of browser_snapshot (e12) or a selector of browser_get_content; or CSS of tags, positions, and the #id, .class or ' +
      '[name="..."] of what was there before the login; or reload or leave the page.',
  };
}

type HasName = KnownNames['hasName'];

/** The refusal of a target, in the agent's terms. */
function refusedPart(target: string, hasName: HasName): string | undefined {
  let parts: z.infer<typeof parsed>['parts'];
  try {
    parts = parsed.parse(parseSelector(readSelector(target))).parts;
  } catch {
    return 'a target that is no valid selector';
  }
  if (parts.length === 0) return 'an empty target';
  for (const { name, body } of parts) {
    const refused = name === 'css' ? refusedCss(body, hasName) : refusedEngine(name, body, hasName);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/** Questions that other engines may answer: none for a text, a name or a pattern. */
const ENGINES: Readonly<Record<string, RegExp>> = {
  'aria-ref': REF,
  'internal:control': /^enter-frame$/,
  'internal:role': /^[a-z]+$/,
  'internal:testid': /^\[data-testid="(?:[^"\\]|\\.)*"s\]$/,
  nth: /^-?\d+$/,
  role: /^[a-z]+$/,
};

function refusedEngine(name: string, body: unknown, hasName: HasName): string | undefined {
  const allowed = Object.hasOwn(ENGINES, name) ? ENGINES[name] : undefined;
  if (allowed === undefined) return `"${name}="`;
  if (typeof body !== 'string' || !allowed.test(body)) return `"${name}=" with a name, a state or a pattern`;
  return name === 'internal:testid' ? refusedName(body, hasName) : undefined;
}

/** Functions that only combine what they are given. */
const COMBINING = ['not', 'is', 'where', 'light'];

function refusedCss(body: unknown, hasName: HasName): string | undefined {
  const list = selectors.safeParse(body);
  if (!list.success) return 'this selector';
  for (const { selector } of list.data.flatMap(({ simples }) => simples)) {
    const css = selector.css ?? '';
    const refused = refusedCompound(css) ?? refusedName(css, hasName) ?? refusedFunctions(selector.functions, hasName);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function refusedFunctions(functions: z.infer<typeof compound>['functions'], hasName: HasName): string | undefined {
  for (const { name, args } of functions) {
    // Playwright adds it by itself to a selector that begins with a combinator.
    if (name === 'scope' && args.length === 0) continue;
    if (!COMBINING.includes(name)) return `":${name}"`;
    const refused = refusedCss(args, hasName);
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

/** Elements of any page. */
const TAGS = new Set(
  (
    'a body button div fieldset footer form h1 h2 h3 h4 header html iframe img input label legend li main nav ol option p section ' +
    'select span svg table tbody td textarea th tr ul'
  ).split(' '),
);
/** The names in a compound that is allowed: of a tag, ids and classes, and values of attributes. */
const NAMES = new RegExp(`^(${NAME})|[#.](${NAME})|=(?:"((?:[^"\\\\\\n]|\\\\[^\\n])*)"|(${NAME}))`, 'gi');
const ESCAPES = new RegExp(ESCAPE, 'gi');

/** A name in it that was not there before: such a one may be made of the secret. */
function refusedName(css: string, hasName: HasName): string | undefined {
  for (const [, tag, name, quoted, bare] of css.matchAll(NAMES)) {
    if (tag !== undefined && TAGS.has(tag.toLowerCase())) continue;
    const found = (tag?.toLowerCase() ?? name ?? quoted ?? bare ?? '').replace(ESCAPES, unescapeSelector);
    if (!hasName(found)) return `"${found}", a name that came after the login,`;
  }
  return undefined;
}

function unescapeSelector(spelling: string): string {
  const code = /^\\([0-9a-f]{1,6})/i.exec(spelling)?.[1];
  if (code === undefined) return spelling.slice(1);
  return Number.parseInt(code, 16) <= 0x10ffff ? String.fromCodePoint(Number.parseInt(code, 16)) : '';
}
