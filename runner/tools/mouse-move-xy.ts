import { defineTool } from './define-tool.ts';
import { askPlaywright } from './playwright-form.ts';

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
    settles: 'nothing',
    snapshotAfter: false,
    run: askPlaywright,
  },
});
