import * as z from 'zod';
import { defineTool } from './define-tool.ts';
import { succeeded } from './result.ts';

const UNITS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] } as const;
const where = z.object({ scrollX: z.number(), scrollY: z.number(), atEnd: z.boolean() });

export const scroll = defineTool({
  name: 'browser_scroll',
  title: 'Scroll',
  does: 'moves',
  description: 'Scroll the page',
  seconds: 20,
  input: {
    direction: z.enum(['up', 'down', 'left', 'right']),
    amount: z.number().min(0).max(1_000_000).default(500).describe('Pixels'),
  },
  compatible: true,
  output: where.partial().shape,
  async run({ direction, amount }, { page }) {
    const [x, y] = UNITS[direction];
    const answer = await page.evaluate(
      `(() => {
        scrollBy({ left: ${x * amount}, top: ${y * amount}, behavior: 'instant' });
        const { scrollHeight } = document.documentElement;
        return { scrollX, scrollY, atEnd: scrollY + innerHeight >= scrollHeight - 1 };
      })()`,
    );
    return succeeded(page, where.parse(answer));
  },
});
