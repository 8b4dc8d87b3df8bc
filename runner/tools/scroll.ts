import * as z from 'zod';
import { pageScript } from '../browser/page-script.ts';
import { pageResult } from '../results/result.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

const UNITS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] } as const;
const where = z.object({ scrollX: z.number(), scrollY: z.number(), atEnd: z.boolean() });
const SCROLL = pageScript(new URL('./scroll.page.js', import.meta.url));
/** A page that shows more where it is scrolled to begins in this time. */
const FIRST_MS = 150;

export const scroll = defineTool({
  name: 'browser_scroll',
  seconds: 20,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Scroll',
    description: 'Scroll the page, or the largest part of it that scrolls',
    input: {
      direction: z.enum(['up', 'down', 'left', 'right']),
      amount: z.number().min(0).max(1_000_000).default(500).describe('Pixels'),
    },
    compatible: true,
    output: where.partial().shape,
    async run({ direction, amount }, { page, settled }) {
      const [x, y] = UNITS[direction];
      const by = (pixels: number) => page.evaluate(`(${SCROLL})(${JSON.stringify({ x: x * pixels, y: y * pixels })})`);
      await settled(page, () => by(amount), { firstMs: FIRST_MS });
      // Content that came meanwhile moved the end.
      return pageResult(page, where.parse(await by(0)));
    },
    settles: 'itself',
    snapshotAfter: false,
  }),
});
