import { refusalResult } from '../../contract/tool-failure.ts';
import { addressOf } from '../browser/addresses.ts';
import { TABS_MAX } from '../browser/page-guard.ts';
import { defineTool } from './define-tool.ts';

const TABS_FULL = refusalResult({
  code: 'tabs_full',
  why: `${TABS_MAX} tabs are open, and a browser here has no more.`,
  instead: 'Close one first, with browser_tabs and the action close.',
});

export const tabs = defineTool({
  name: 'browser_tabs',
  seconds: 45,
  effect: 'acts',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Manage tabs',
    description: 'List, open, close or select tabs',
    args: { index: 'Left out: the current one', url: 'For a new tab' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    keepsFileChooser: true,
    run: async (args, call) => {
      if (args.action === 'new' && call.tabs.isFull()) return TABS_FULL;
      const url = typeof args.url === 'string' ? addressOf(args.url) : undefined;
      return call.ask(url === undefined ? args : { ...args, url });
    },
  },
});
