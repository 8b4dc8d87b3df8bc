import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { clickTarget } from '../acting/click-target.ts';
import { beyondWindow, clickAt } from '../acting/pointer.ts';
import { locate } from '../acting/target.ts';
import { unfitFields } from '../acting/unfit-fields.ts';
import { invalidArguments, pageResult } from '../results/result.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, ANSWERS, onPage, TARGET } from './playwright-form.ts';

export const click = defineTool({
  name: 'browser_click',
  seconds: 30,
  effect: 'acts',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Click',
    description: 'Click an element',
    args: { target: TARGET },
    unlisted: ['modifiers'],
    settles: ANSWERS,
    snapshotAfter: true,
    namesUnfitFields: true,
    run: onPage(
      {
        target: z.string(),
        doubleClick: z.boolean().optional(),
        button: z.enum(['left', 'right', 'middle']).optional(),
        modifiers: z.array(z.enum(['Alt', 'Control', 'ControlOrMeta', 'Meta', 'Shift'])).optional(),
      },
      async (page, { target, doubleClick = false, button, modifiers }) =>
        clickTarget(page, target, {
          ...(button && { button }),
          ...(modifiers && { modifiers }),
          ...ACTION,
          isDouble: doubleClick,
        }),
    ),
  },
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Click',
    description: 'Click an element, by selector or at coordinates of the visible part of the page',
    input: {
      selector: z.string().min(1).optional().describe('CSS selector (alternative to coordinates)'),
      x: z.number().optional().describe('X coordinate'),
      y: z.number().optional().describe('Y coordinate'),
    },
    distinctive: ['selector', 'x', 'y'],
    compatible: true,
    output: {},
    settles: 'itself',
    snapshotAfter: false,
    async run({ selector, x, y }, { page, settled, lease }) {
      if (selector !== undefined) {
        // An element that appears within the time limit of an action is clicked.
        const click = () => clickTarget(page, selector, ACTION, async () => locate(page, selector));
        const said = await settled(page, click);
        if (said?.isError === true) return said;
      } else if (x !== undefined && y !== undefined) {
        const beyond = beyondWindow(page, { x, y });
        if (beyond !== undefined) return refusalResult(beyond);
        await settled(page, () => clickAt(page, { x, y }));
      } else return invalidArguments('Give a selector, or both x and y.');
      return pageResult(page, {}, await unfitFields(page, lease.documents));
    },
  }),
});
