import * as z from 'zod';
import { existing } from '../acting/target.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, onPage } from './playwright-form.ts';

export const hover = defineTool({
  name: 'browser_hover',
  seconds: 20,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Hover mouse',
    description: 'Move the mouse over an element',
    args: {},
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: onPage({ target: z.string() }, async (page, { target }) => {
      await (await existing(page, target)).hover(ACTION);
    }),
  },
});
