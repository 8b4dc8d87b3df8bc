import * as z from 'zod';
import { defineTool } from './define-tool.ts';
import { at, drawnBox } from './drawn-box.ts';
import { invalidArguments, succeeded } from './result.ts';
import { locate } from './target.ts';
import { unfitFields } from './unfit-fields.ts';

const ACTION_MS = 5_000;

export const click = defineTool({
  name: 'browser_click',
  title: 'Click',
  does: 'changes',
  description: 'Click an element, by selector or at coordinates of the visible part of the page',
  seconds: 30,
  input: {
    selector: z.string().min(1).optional().describe('CSS selector (alternative to coordinates)'),
    x: z.number().optional().describe('X coordinate'),
    y: z.number().optional().describe('Y coordinate'),
  },
  compatible: true,
  output: {},
  async run({ selector, x, y }, { page, settled, lease }) {
    if (selector !== undefined)
      await settled(page, async () => {
        const drawn = await drawnBox(page, selector);
        await (drawn?.element ?? locate(page, selector)).click({ ...at(drawn), timeout: ACTION_MS });
      });
    else if (x !== undefined && y !== undefined) await settled(page, () => page.mouse.click(x, y));
    else return invalidArguments('Give a selector, or both x and y.');
    return succeeded(page, {}, await unfitFields(page, lease.documents));
  },
});
