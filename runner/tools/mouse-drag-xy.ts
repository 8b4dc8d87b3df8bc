import { defineTool } from './define-tool.ts';
import { ANSWERS, askPlaywright } from './playwright-form.ts';

export const mouseDragXy = defineTool({
  name: 'browser_mouse_drag_xy',
  seconds: 20,
  effect: 'acts',
  whileTainted: { closed: 'no text is selected and nothing is dragged' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Drag mouse',
    description: 'Drag between two points',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: askPlaywright,
  },
});
