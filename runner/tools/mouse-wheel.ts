import { defineTool } from './define-tool.ts';
import { askPlaywright } from './playwright-form.ts';

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
    settles: 'nothing',
    snapshotAfter: false,
    run: askPlaywright,
  },
});
