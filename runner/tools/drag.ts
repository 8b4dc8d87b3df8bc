import { defineTool } from './define-tool.ts';
import { ANSWERS, askPlaywright } from './playwright-form.ts';

export const drag = defineTool({
  name: 'browser_drag',
  seconds: 30,
  effect: 'acts',
  whileTainted: { closed: 'nothing is dragged' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Drag mouse',
    description: 'Drag one element onto another',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: askPlaywright,
  },
});
