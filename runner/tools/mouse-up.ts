import { defineTool } from './define-tool.ts';
import { ANSWERS, askPlaywright } from './playwright-form.ts';

export const mouseUp = defineTool({
  name: 'browser_mouse_up',
  seconds: 20,
  effect: 'acts',
  whileTainted: { closed: 'no text is selected and nothing is dragged' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Press mouse up',
    description: 'Release a mouse button',
    args: {},
    unlisted: ['button'],
    settles: ANSWERS,
    snapshotAfter: false,
    run: askPlaywright,
  },
});
