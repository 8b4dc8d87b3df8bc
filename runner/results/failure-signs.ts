import type { Refusal } from '../../contract/tool-failure.ts';
import { networkFailure } from './network-failure.ts';

/**
 * The one table of signs by which failures of Playwright, worded for developers, become sentences that say what is wrong and what to do.
 * A page words no part of them: errors of scripts are passed on as they are.
 */
type Sign = readonly [RegExp, (found: RegExpExecArray) => Refusal];

const field = (why: string, instead: string) => (): Refusal => ({ code: 'field_refused', why, instead });
const invalid = (why: string, instead: string) => (): Refusal => ({ code: 'invalid_arguments', why, instead });
const failed = (why: string, instead: string) => (): Refusal => ({ code: 'action_failed', why, instead });
const absent = ([, target = '']: RegExpExecArray): Refusal => ({
  code: 'element_not_found',
  why: `"${target}" names no element of the page now.`,
  instead: 'Take a snapshot and use the ref of the element.',
});

/** `✖ Invalid input: expected string, received undefined`, and below it `→ at url`: https://zod.dev/error-formatting */
const FAULT = /✖ (?:Invalid (?:input|option): )?([^\n]+)(?:\n[> ]*→ at ([^\n]+))?/g;
const FAULTS_CHARACTERS_MAX = 600;

/** Arguments that do not fit the schema, as Playwright MCP words them. */
const misfit = ([, faults = '']: RegExpExecArray): Refusal => {
  const told = [...faults.matchAll(FAULT)].map(([, what, at]) => (at === undefined ? what : `${at}: ${what}`));
  return {
    code: 'invalid_arguments',
    why: `${told.join('; ').slice(0, FAULTS_CHARACTERS_MAX)}.`,
    instead: 'tools/list has the schema of each tool.',
  };
};

const SIGNS: readonly Sign[] = [
  [/^### Error\n(?:> )?Invalid arguments for tool "\w+":\n([\s\S]+)/, misfit],
  [
    /^### Error\nError: (At least one of "paths" or "data" must be provided)/,
    ([, why]) => ({ code: 'invalid_arguments', why: `${why}.`, instead: 'Name a file, or give data.' }),
  ],
  [
    /^### Error\nError: Tab index is required/,
    invalid('index is missing.', 'browser_tabs lists the tabs with their indices.'),
  ],
  [
    /^### Error\nRequest #(\d+) not found/,
    ([, index]) => ({
      code: 'invalid_arguments',
      why: `There is no request ${index}.`,
      instead: 'browser_network_requests lists the requests with their indices.',
    }),
  ],
  [
    /Screen width and height values must be positive/,
    invalid('This is no size of a window.', 'Give pixels, such as 1280 and 720.'),
  ],
  [
    /\bTab (-?\d+) not found/,
    ([, index]) => ({
      code: 'invalid_arguments',
      why: `There is no tab ${index}.`,
      instead: 'browser_tabs lists the tabs with their indices.',
    }),
  ],
  [/\bRef (\S+) not found in the current page snapshot/, absent],
  [/The selector "(.*)" does not match any elements/s, absent],
  [
    /strict mode violation: .* resolved to (\d+) elements/,
    ([, count]) => ({
      code: 'element_not_found',
      why: `The target names ${count} elements of the page, not one.`,
      instead:
        'Several elements match: use the ref of a snapshot, or a selector of browser_get_content, which names one.',
    }),
  ],
  [
    /Unexpected token .* while parsing|while parsing (?:css )?selector|is not a valid (?:selector|XPath)|Malformed selector|Unknown engine|InvalidSelectorError|Error while parsing selector|Unsupported token/,
    invalid(
      'The target is no selector that can be read.',
      'Give the ref of a snapshot (e12), CSS (#id, [name="q"]) or getByRole("button", { name: "Save" }).',
    ),
  ],
  [
    /Cannot navigate to invalid URL/,
    invalid('This is no address.', 'Give an address such as https://example.com/path.'),
  ],
  [
    /Element is not an <input>|Node is not an <input>|Element is not editable/,
    field('The element takes no text.', 'Name the field itself by its ref; what opens a field is clicked first.'),
  ],
  [
    /Input of type "([^"]*)" cannot be filled/,
    ([, type]) => ({
      code: 'field_refused',
      why: `A field of the type ${type} takes no text.`,
      instead: 'Click it, or name another field.',
    }),
  ],
  [
    /Cannot type text into input\[type=number\]/,
    field('The field takes a number as 3.5.', 'Give digits, with a point before the fraction.'),
  ],
  [
    /Malformed value/,
    field(
      'The field does not take this value.',
      'Write a date as 2026-11-24, a time as 14:30, both as 2026-11-24T14:30, a month as 2026-11, a week as 2026-W48, a colour as #ff8800; a slider takes a number between its bounds.',
    ),
  ],
  [/Element is not a <select>/, field('The element is no list of options.', 'Click it, then the option that appears.')],
  [/Not a checkbox or radio button/, field('The element is no checkbox or radio button.', 'Click it instead.')],
  [
    /did not change its state/,
    failed('The click did not switch it: the page keeps it as it is.', 'Look at what the page asks for first.'),
  ],
  [
    /Non-multiple file input can only accept single file/,
    field('The field takes one file.', 'Give one name of browser_file_list.'),
  ],
  [
    /Node is not an HTMLInputElement|Node is not an? .*file/i,
    field('The element takes no file.', 'Name the file field.'),
  ],
  [
    /Element is not attached to the DOM|Element is not connected/,
    failed('The page replaced the element meanwhile.', 'Take a snapshot and use its new ref.'),
  ],
  [
    /Execution context was destroyed|Frame was detached|Cannot find context with specified id/,
    failed('The page went to another one while the call ran.', 'Look at the page that is there now.'),
  ],
  [
    /can only be used when there is related modal state present/,
    failed('No dialog and no file chooser is open.', 'Nothing has to be answered: go on.'),
  ],
];

/** Signs in the call log of a time-out; the last state in it is the one that counts. Those that last hardly go away by themselves. */
const OBSTACLES: readonly (readonly [...Sign, 'lasts'?])[] = [
  [/^ *- navigating to "/gm, failed('The site did not begin to answer.', 'Check the address, or try again later.')],
  [
    /^ *- <(?:html|body)\b.*> (?:from .+ )?intercepts pointer events$/gm,
    failed(
      'The element takes no clicks now: the page has switched off the part that it is in, or shows a dialog before it.',
      'Answer or close the dialog of the page first.',
    ),
    'lasts',
  ],
  [
    /^ *- (<.+>) (?:from .+ )?intercepts pointer events$/gm,
    ([, cover]) => ({
      code: 'action_failed',
      why: `The element is covered by ${cover}.`,
      instead: 'Close what covers it (a banner, a box of the page) first, or scroll it away.',
    }),
    'lasts',
  ],
  [
    /^ *- element is not visible$/gm,
    failed(
      'The element is there, but is not shown.',
      'Open what holds it first: click the menu, the tab or the heading that it belongs to.',
    ),
    'lasts',
  ],
  [
    /^ *- element is not enabled$/gm,
    failed('The element is disabled.', 'Fill in what the page still asks for, or wait, then look at it again.'),
    'lasts',
  ],
  [
    /^ *- element is not editable$/gm,
    failed('The field is read-only.', 'Click it: it may open a picker in which the value is chosen.'),
  ],
  [
    /^ *- element is not stable$/gm,
    failed(
      'The element never stands still.',
      'Give it the focus with Tab and press Enter, or click at coordinates with browser_mouse_click_xy.',
    ),
  ],
  [
    /^ *- element is outside of the viewport$/gm,
    failed(
      'The element cannot be scrolled into the visible part of the page.',
      'Click at coordinates, or use what moves the page.',
    ),
  ],
  [
    /^ *- did not find some options$/gm,
    failed('The list does not offer this option.', 'Look at its options in a snapshot.'),
  ],
  [/^ *- option being selected is not enabled$/gm, failed('The option is disabled.', 'Choose another one.')],
];

const ABSENT = failed(
  'No element of the page matches.',
  'The page may still be loading: wait, then look at it again. Another tab or a frame may have it.',
);

/** Errors that a script of the agent threw, or a page in it: they may be worded like anything. A locator alone has a time limit. */
const OF_SCRIPT =
  /^(?:Error: )?(?:page|elementHandle|jsHandle|locator)\.evaluate(?:Handle|All)?: (?<!locator\.\w+: (?=Timeout \d+ms exceeded))/;

/** Whether a script's error says it, and not Playwright. */
export const isOfScript = (failure: string): boolean => OF_SCRIPT.test(failure);

/** The same in the words of the script, which is what failed. */
export const wordsOfScript = (failure: string): string => failure.replace(OF_SCRIPT, 'The script failed: ');

/** Signs stand at the beginning. In a longer text, which a page may have worded, they would be looked for over minutes. */
const LOOKED_AT_CHARACTERS = 10_000;

/** The failure in words for agents; undefined: no sign of it is known. */
export function refusalIn(failure: string): Refusal | undefined {
  const begun = failure.slice(0, LOOKED_AT_CHARACTERS);
  if (isOfScript(begun) && !DESTROYED.test(begun)) return undefined;
  const [said = ''] = begun.split('\nCall log:');
  for (const [sign, refusal] of SIGNS) {
    const found = sign.exec(said);
    if (found !== null) return refusal(found);
  }
  return networkFailure(said);
}

const DESTROYED = /^(?:Error: )?\w+\.\w+: Execution context was destroyed, most likely because of a navigation/;

/** The last obstacle that a call log names. */
function lastObstacle(log: string) {
  const end = log.slice(-LOOKED_AT_CHARACTERS);
  const found = OBSTACLES.flatMap(([sign, obstacle, lasts]) =>
    [...end.matchAll(sign)].slice(-1).map(match => ({ match, obstacle, lasts })),
  );
  return found.sort((a, b) => b.match.index - a.match.index)[0];
}

/** Finds what kept an action from its element until its time was over; undefined: the log does not say. */
export function obstacleIn(log: string): Refusal | undefined {
  const last = lastObstacle(log);
  if (last !== undefined) return last.obstacle(last.match);
  return /Call log:\n *- waiting for [^\n]*\n*$/.test(log) ? ABSENT() : undefined;
}

/** A cover that says that it goes away. */
const BUSY = /spin|load|skelet|busy|progress/i;
const PASSED = /^ *- element is (?:visible|enabled|stable)/m;

/** Whether the last state in the log is an obstacle that will hardly go away by itself. */
export function isLasting(log: string): boolean {
  const last = lastObstacle(log);
  if (last?.lasts !== 'lasts') return false;
  const { 0: line, index } = last.match;
  return !BUSY.test(line) && !PASSED.test(log.slice(index));
}
