import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { findKey } from '../browser/key-names.ts';
import { textResult } from '../results/result.ts';
import { FIRST_CHANGE_MS } from '../settle/settle.ts';
import { defineTool } from './define-tool.ts';
import { onPage } from './playwright-form.ts';

export const pressKey = defineTool({
  name: 'browser_press_key',
  seconds: 30,
  effect: 'acts',
  whileTainted: { pressesKey: true },
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Press a key',
    description: 'Press a key',
    args: { key: 'e.g. Enter, ArrowLeft, a, Control+A' },
    unlisted: [],
    settles: { firstMs: FIRST_CHANGE_MS, begins: 'input', isKey: true },
    snapshotAfter: true,
    namesUnfitFields: true,
    run: onPage({ key: z.string() }, async (page, { key }) => {
      const named = findKey(key);
      if (named === undefined) return noKey(key);
      // A character that no key of the keyboard has is typed as a text.
      await ([...named].length === 1 ? page.keyboard.type(named) : page.keyboard.press(named));
      return OF_BROWSERS.test(named) ? textResult(OF_BROWSER) : undefined;
    }),
  },
});

/** Keys with which a person reloads a page or goes back; Chromium hears them in its window alone, and there is none. */
const OF_BROWSERS = /^(?:(?:Control\+|Shift\+)?F5|(?:Control|Meta)\+(?:Shift\+)?[Rr]|Alt\+Arrow(?:Left|Right))$/;
const OF_BROWSER =
  'The page alone heard this key: nothing is reloaded, and no page is gone back to. browser_navigate and browser_navigate_back do that.';

const noKey = (key: string): CallToolResult =>
  refusalResult({
    code: 'invalid_arguments',
    why: `No key is called ${JSON.stringify(key.slice(0, NAME_CHARACTERS_MAX))}.`,
    instead:
      'Press one key a call, its modifiers before it: Enter, Escape, Tab, ArrowDown, PageDown, Delete, F5, a, Control+A, Shift+Tab. browser_type types a text.',
  });

const NAME_CHARACTERS_MAX = 80;
