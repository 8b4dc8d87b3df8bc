import { defineTool } from './define-tool.ts';
import { ANSWERS, askPlaywright } from './playwright-form.ts';

export const mouseClickXy = defineTool({
  name: 'browser_mouse_click_xy',
  seconds: 20,
  effect: 'acts',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Click',
    description: 'Click at coordinates of the viewport',
    args: {},
    unlisted: ['clickCount', 'delay'],
    settles: ANSWERS,
    snapshotAfter: true,
    run: askPlaywright,
  },
});
