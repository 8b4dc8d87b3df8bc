import { NAVIGATION_MS } from '../browser/navigation-time.ts';
import { defineTool } from './define-tool.ts';
import { AT_ONCE, onPage } from './playwright-form.ts';

export const navigateBack = defineTool({
  name: 'browser_navigate_back',
  seconds: 45,
  effect: 'acts',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Go back',
    description: 'Go back in the history',
    args: {},
    unlisted: [],
    settles: AT_ONCE,
    snapshotAfter: true,
    run: onPage({}, async page => {
      await page.goBack({ waitUntil: 'commit', timeout: NAVIGATION_MS });
    }),
  },
});
