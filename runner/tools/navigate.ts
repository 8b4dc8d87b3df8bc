import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { upstreamTabOf } from '../upstream/upstream-tab.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { goSignedIn } from './go-signed-in.ts';
import { openAddress, withPicture } from './open-address.ts';
import { AT_ONCE, onPage } from './playwright-form.ts';

export const navigate = defineTool({
  name: 'browser_navigate',
  seconds: 45,
  effect: 'leaves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Navigate to a URL',
    description: 'Go to a URL',
    args: {},
    unlisted: [],
    settles: AT_ONCE,
    snapshotAfter: true,
    run: (args, call) =>
      onPage({ url: z.string() }, async (page, { url }, signal) => {
        upstreamTabOf(page)._clearCollectedArtifacts();
        const gone = await goSignedIn(page, url, call.lease, signal);
        return 'code' in gone ? refusalResult(gone) : undefined;
      })(args, call),
  },
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Go to a URL',
    description: 'Navigate to a URL in the browser',
    input: {
      url: z.string().min(1).describe('URL to navigate to'),
      screenshot: z.boolean().default(false).describe('A picture of the page too'),
    },
    compatible: true,
    output: {},
    async run({ url, screenshot }, context) {
      const result = await openAddress(url, context);
      return screenshot ? withPicture(result, context) : result;
    },
    settles: 'itself',
    snapshotAfter: false,
    distinctive: ['screenshot'],
  }),
});
