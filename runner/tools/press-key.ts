import * as z from 'zod';
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
    settles: { firstMs: FIRST_CHANGE_MS, begins: 'input' },
    snapshotAfter: true,
    namesUnfitFields: true,
    run: onPage({ key: z.string() }, async (page, { key }) => {
      await page.keyboard.press(key);
    }),
  },
});
