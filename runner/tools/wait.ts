import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { defineTool } from './define-tool.ts';
import { invalidArguments, succeeded } from './result.ts';
import { locate } from './target.ts';

const WAIT_MS_MAX = 30_000;

export const wait = defineTool({
  name: 'browser_wait',
  title: 'Wait',
  does: 'reads',
  description: 'Wait for some time, or until an element is visible',
  seconds: 40,
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
    return succeeded(page);
  },
});
