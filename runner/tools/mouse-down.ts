import { defineTool } from './define-tool.ts';
import { askPlaywright } from './playwright-form.ts';

export const mouseDown = defineTool({
  name: 'browser_mouse_down',
  seconds: 20,
  effect: 'acts',
  whileTainted: { closed: 'no text is selected and nothing is dragged' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Press mouse down',
    description: 'Press a mouse button',
    args: {},
    unlisted: ['button'],
    settles: 'nothing',
    snapshotAfter: false,
    run: askPlaywright,
  },
});
