import * as z from 'zod';
import { moveOnto } from '../acting/pointer.ts';
import { defineTool } from './define-tool.ts';
import { ANSWERS, onPage } from './playwright-form.ts';

export const mouseMoveXy = defineTool({
  name: 'browser_mouse_move_xy',
  seconds: 20,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Move mouse',
    description: 'Move to a point',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage({ x: z.number(), y: z.number() }, async (page, point) => {
      await moveOnto(page, point);
      return undefined;
    }),
  },
});
