import { defineTool } from './define-tool.ts';

export const close = defineTool({
  name: 'browser_close',
  seconds: 10,
  effect: 'closes',
  whileTainted: 'exempt',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Close browser',
    description: 'Close all tabs; one blank tab stays',
    args: {},
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: (_args, call) => call.tabs.closeAll(),
  },
});
