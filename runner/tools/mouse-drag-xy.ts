import * as z from 'zod';
import { dragAlong } from '../acting/pointer.ts';
import { defineTool } from './define-tool.ts';
import { ANSWERS, onPage } from './playwright-form.ts';

export const mouseDragXy = defineTool({
  name: 'browser_mouse_drag_xy',
  seconds: 20,
  effect: 'acts',
  whileTainted: { closed: 'no text is selected and nothing is dragged' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Drag mouse',
    description: 'Drag from point to point',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage(
      { startX: z.number(), startY: z.number(), endX: z.number(), endY: z.number() },
      async (page, { startX, startY, endX, endY }, signal) => {
        const end = { x: endX, y: endY };
        await dragAlong(page, { x: startX, y: startY }, { toward: end, find: async () => end }, signal);
        return undefined;
      },
    ),
  },
});
