import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { locate } from '../acting/target.ts';
import { invalidArguments, pageResult } from '../results/result.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

const WAIT_MS_MAX = 30_000;

export const wait = defineTool({
  name: 'browser_wait',
  seconds: 40,
  effect: 'waits',
  whileTainted: 'open',
  shorter: null,
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Wait',
    description: 'Wait for some time, or until an element is visible',
    input: {
      ms: z.number().min(0).max(WAIT_MS_MAX).optional().describe('How long, or how long at most with a selector'),
      selector: z.string().min(1).optional().describe('Wait until this element is visible'),
    },
    compatible: true,
    output: {},
    async run({ ms, selector }, { page, signal }) {
      if (selector !== undefined)
        await locate(page, selector)
          .first()
          .waitFor({ state: 'visible', timeout: ms ?? 10_000 });
      else if (ms !== undefined) await delay(ms, undefined, { signal });
      else return invalidArguments('Give ms, a selector, or both.');
      return pageResult(page);
    },
    settles: 'nothing',
    snapshotAfter: false,
  }),
});
