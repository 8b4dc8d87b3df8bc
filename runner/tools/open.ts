import * as z from 'zod';
import { pageResult } from '../results/result.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { openAddress, withPicture } from './open-address.ts';

/** The session is open as long as the lease lives: all that is left to do is to navigate. */
export const open = defineTool({
  name: 'browser_open',
  seconds: 45,
  effect: 'leaves',
  whileTainted: 'open',
  shorter: null,
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Open the browser',
    description: 'Open the browser session, at a URL if one is given; answers its id and a picture of the page',
    input: {
      url: z.string().min(1).optional().describe('URL to start with'),
      screenshot: z.boolean().default(true).describe('A picture of the page too'),
    },
    compatible: true,
    output: { status: z.string().optional(), sessionId: z.string().optional() },
    async run({ url, screenshot }, context) {
      const fields = { status: 'opened', sessionId: context.lease.sessionId };
      const result = await (url === undefined ? pageResult(context.page, fields) : openAddress(url, context, fields));
      return screenshot ? withPicture(result, context) : result;
    },
    settles: 'itself',
    snapshotAfter: false,
  }),
});
