import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { beyondWindow, clickAt } from '../acting/pointer.ts';
import { defineTool } from './define-tool.ts';
import { ANSWERS, onPage } from './playwright-form.ts';

export const mouseClickXy = defineTool({
  name: 'browser_mouse_click_xy',
  seconds: 20,
  effect: 'acts',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Click',
    description: 'Click at a point',
    args: {},
    unlisted: ['button', 'clickCount', 'delay'],
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage(
      {
        x: z.number(),
        y: z.number(),
        button: z.enum(['left', 'right', 'middle']).optional(),
        clickCount: z.number().optional(),
        delay: z.number().optional(),
      },
      async (page, { x, y, button, clickCount, delay }) => {
        const beyond = beyondWindow(page, { x, y });
        if (beyond !== undefined) return refusalResult(beyond);
        await clickAt(
          page,
          { x, y },
          {
            ...(button && { button }),
            ...(clickCount !== undefined && { clickCount }),
            ...(delay !== undefined && { delay }),
          },
        );
        return undefined;
      },
    ),
  },
});
