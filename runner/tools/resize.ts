import { defineTool } from './define-tool.ts';
import { askPlaywright } from './playwright-form.ts';

export const resize = defineTool({
  name: 'browser_resize',
  seconds: 10,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Resize browser window',
    description: 'Resize the window',
    args: {},
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: askPlaywright,
  },
});
