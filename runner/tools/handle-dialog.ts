import { defineTool } from './define-tool.ts';
import { ANSWERS, askPlaywright } from './playwright-form.ts';

export const handleDialog = defineTool({
  name: 'browser_handle_dialog',
  seconds: 30,
  effect: 'acts',
  whileTainted: 'exempt',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Handle a dialog',
    description: 'Accept or dismiss the open dialog',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: askPlaywright,
  },
});
