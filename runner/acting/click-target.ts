import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ElementHandle, Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { within } from '../../time/within.ts';
import { pageFunction } from '../browser/page-script.ts';
import { textResult } from '../results/result.ts';
import { actUnlessHindered, PRESSED } from './act-unless-hindered.ts';
import { type Aim, aimAt } from './aim.ts';
import { positionAt } from './choice.ts';
import { at, drawnBox } from './drawn-box.ts';
import { clickAt } from './pointer.ts';
import { pressOnceReady } from './press-once-ready.ts';
import { findExisting } from './target.ts';

/** `timeout` in milliseconds. */
export type ClickOptions = NonNullable<Parameters<Locator['click']>[0]> & { readonly timeout: number };

/** An element that still moves then never stands still: a person clicks it on its way. */
const MOVES_MS = 1_200;
const LOOK_MS = 500;

const LAYER = "A clear layer of the page lies over the element; it took the click, as it takes a person's.";

/** Clicks as a hand does, by default what is there now; resolves with what there is to say. Rejects as Playwright does. */
export async function clickTarget(
  page: Page,
  target: string,
  options: ClickOptions & { readonly isDouble?: boolean },
  find: (page: Page, target: string) => Promise<Locator> = findExisting,
): Promise<CallToolResult | undefined> {
  const [found, drawn, aim] = await Promise.all([
    find(page, target),
    drawnBox(page, target),
    aimAt(page, target, true),
  ]);
  if (aim?.isOption === true) return chooseOption(found, options.timeout);
  if (aim?.isArea === true && aim.at !== null) {
    const { isDouble = false, button } = options;
    await clickAt(page, aim.at, { clickCount: isDouble ? 2 : 1, ...(button && { button }) });
    return undefined;
  }
  const isThrough = drawn === undefined && aim?.isThrough === true;
  const isPlain = drawn === undefined && !isThrough && options.isDouble !== true && options.modifiers === undefined;
  if (isPlain && aim !== undefined && (await pressOnceReady(page, aim, options))) return undefined;
  const wanted = { ...options, ...at(drawn), ...(isThrough && { force: true }) };
  await Promise.all([
    approach(page, drawn === undefined ? aim : undefined),
    clickOnce(drawn?.element ?? found, wanted),
  ]);
  return isThrough ? textResult(LAYER) : undefined;
}

/** A person clicks the list first. Resolves with a refusal where the option cannot be chosen. */
async function chooseOption(option: Locator, timeout: number): Promise<CallToolResult | undefined> {
  const element = await option.elementHandle({ timeout });
  const list = offer.parse(await element?.evaluate(OPTION));
  const chosen = positionAt(list.index, list.options);
  if (typeof chosen === 'object') return refusalResult(chosen);
  await option.locator('xpath=ancestor::select[1]').selectOption({ index: chosen }, { timeout });
  return undefined;
}

const offer = z.object({
  index: z.int(),
  options: z.array(z.object({ text: z.string(), value: z.string(), isDisabled: z.boolean() })),
});

/** Runs in the page: the position of an option in its list, and all that the list offers. */
const OPTION = pageFunction<[option: unknown]>(`option => ({
  index: option.index,
  options: [...option.closest('select').options].map(each => ({
    text: (each.label || each.text).trim(),
    value: each.value,
    isDisabled: each.matches(':disabled') || each.closest('select').matches(':disabled'),
  })),
})`);

/** The first movement, which ends beside the point: not awaited, it comes before that of a click, which waits until the element stands still. */
export async function approach(page: Page, aim: Aim | undefined): Promise<void> {
  if (aim?.near) await page.mouse.move(aim.near.x, aim.near.y).catch(() => undefined);
}

async function clickOnce(
  element: Locator | ElementHandle,
  { isDouble = false, timeout, ...options }: ClickOptions & { readonly isDouble?: boolean },
): Promise<void> {
  const click = (how: Omit<ClickOptions, 'timeout'>) =>
    actUnlessHindered(ms => {
      const bounded = { ...how, timeout: ms };
      return isDouble ? element.dblclick(bounded) : element.click(bounded);
    }, timeout);
  const moving = new AbortController();
  const timer = setTimeout(async () => {
    if (await isMoving(element)) moving.abort();
  }, MOVES_MS);
  try {
    await click({ ...options, signal: moving.signal });
  } catch (error) {
    if (!moving.signal.aborted || (error instanceof Error && PRESSED.test(error.message))) throw error;
    await click({ ...options, force: true });
  } finally {
    clearTimeout(timer);
  }
}

const isMoving = async (element: Pick<ElementHandle, 'evaluate'>): Promise<boolean> =>
  (await within(element.evaluate(MOVED), LOOK_MS)) === true;

/** Runs in the page: whether the element is elsewhere two frames later. */
const MOVED = pageFunction<[element: unknown]>(`element => new Promise(resolve => {
  const place = () => { const { x, y } = element.getBoundingClientRect(); return x + ' ' + y; };
  const before = place();
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(place() !== before)));
})`);
