import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import type { Point } from '../acting/aim.ts';
import { type DropPlace, dropPoint, PLACES } from '../acting/drop-place.ts';
import { dragAlong } from '../acting/pointer.ts';
import { selectWords } from '../acting/select-words.ts';
import { findExisting } from '../acting/target.ts';
import { textResult } from '../results/result.ts';
import { defineTool } from './define-tool.ts';
import { ACTION, ANSWERS, onPage } from './playwright-form.ts';

export const drag = defineTool({
  name: 'browser_drag',
  seconds: 30,
  effect: 'acts',
  whileTainted: { closed: 'nothing is dragged' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Drag',
    description: 'Drag there, or select words',
    args: {},
    unlisted: [],
    added: { place: PLACES.filter(place => place !== 'into'), words: 'string' },
    settles: ANSWERS,
    snapshotAfter: true,
    run: onPage(
      {
        startTarget: z.string(),
        endTarget: z.string(),
        place: z.enum(PLACES).default('into'),
        words: z.string().min(1).optional(),
      },
      async (page, { startTarget, endTarget, place, words }, signal) => {
        const start = await findExisting(page, startTarget);
        if (words !== undefined) return select(page, start, words);
        await dragOnto(page, start, await findExisting(page, endTarget), place, signal);
        return undefined;
      },
    ),
  },
});

async function dragOnto(
  page: Page,
  start: Locator,
  end: Locator,
  place: DropPlace,
  signal: AbortSignal,
): Promise<void> {
  // Waits until the element stands still and nothing covers it.
  await start.hover(ACTION);
  const [from, toward] = [await pointOf(start), await pointOf(end)];
  await dragAlong(page, from, { toward, find: () => dropPoint(end, place, ACTION.timeout) }, signal);
}

/** The middle of what is on the page, seen or not. */
async function pointOf(element: Locator): Promise<Point> {
  const box = await element.boundingBox(ACTION);
  if (box === null) throw new Error('The element is there, but is not shown.');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function select(page: Page, element: Locator, words: string): Promise<CallToolResult> {
  const selected = await selectWords(page, element, words, ACTION.timeout);
  return selected === undefined
    ? refusalResult({
        code: 'element_not_found',
        why: `The page does not show the words ${JSON.stringify(words)}.`,
        instead: 'Give the words as the snapshot has them, and the ref of what shows them or is near them.',
      })
    : textResult(`Selected: ${JSON.stringify(selected)}`);
}
