import * as z from 'zod';
import { actUnlessHindered } from '../acting/act-unless-hindered.ts';
import { aimAt } from '../acting/aim.ts';
import { approach } from '../acting/click-target.ts';
import { findExisting } from '../acting/target.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, ANSWERS, onPage } from './playwright-form.ts';

export const hover = defineTool({
  name: 'browser_hover',
  seconds: 20,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Hover',
    description: 'Move the mouse there',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage({ target: z.string() }, async (page, { target }) => {
      const [element, aim] = await Promise.all([findExisting(page, target), aimAt(page, target)]);
      await Promise.all([
        approach(page, aim),
        actUnlessHindered(timeout => element.hover({ timeout, force: aim?.isThrough === true }), ACTION.timeout),
      ]);
      return undefined;
    }),
  },
});
