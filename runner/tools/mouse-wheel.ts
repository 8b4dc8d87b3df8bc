import * as z from 'zod';
import { defineTool } from './define-tool.ts';
import { ANSWERS, onPage } from './playwright-form.ts';

export const mouseWheel = defineTool({
  name: 'browser_mouse_wheel',
  seconds: 20,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Scroll mouse wheel',
    description: 'Scroll by pixels',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage({ deltaX: z.number().default(0), deltaY: z.number().default(0) }, async (page, { deltaX, deltaY }) => {
      await page.mouse.wheel(deltaX, deltaY);
      return undefined;
    }),
  },
});
