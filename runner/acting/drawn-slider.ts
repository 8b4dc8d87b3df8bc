import { setTimeout as delay } from 'node:timers/promises';
import type { ElementHandle, Page } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';

/** A slider with more steps is dragged. */
const KEYS_MAX = 400;
/** A page may show what a key did a frame or two later. */
const SHOWN_MS = 50;
const UP = ['ArrowRight', 'ArrowUp'];
const DOWN = ['ArrowLeft', 'ArrowDown'];

/**
 * Sets a slider or a spin button that the page draws itself, by the arrow keys that such elements have
 * (<https://www.w3.org/WAI/ARIA/apg/patterns/slider/>). Resolves with why it is not at that number; undefined: it is.
 */
export async function slideTo(page: Page, slider: ElementHandle, text: string): Promise<Refusal | undefined> {
  const { now: start, min, max } = await slider.evaluate(readScale);
  const wanted = text.trim() === '' ? Number.NaN : Number(text);
  const isWithin = wanted >= (min ?? -Infinity) && wanted <= (max ?? Infinity); // false of what is no number
  if (!isWithin)
    return refuse(`It goes from ${min ?? 'any number'} to ${max ?? 'any number'}.`, 'Give a number between them.');
  if (wanted === start) return undefined;
  await slider.focus();
  const isUp = wanted > start;
  const isShort = (value: number) => (isUp ? value < wanted : value > wanted);
  const read = async () => (await slider.evaluate(readScale)).now;
  const press = async (key: string, before: number) => {
    await page.keyboard.press(key);
    const after = await read();
    return after === before ? delay(SHOWN_MS).then(read) : after;
  };
  let now = start;
  for (const key of isUp ? UP : DOWN) {
    now = await press(key, start);
    for (let keys = 1, before = start; isShort(now) && now !== before && keys < KEYS_MAX; keys += 1) {
      before = now;
      now = await press(key, before);
    }
    if (now !== start) break;
  }
  if (now === wanted) return undefined;
  return now === start
    ? refuse('Its arrow keys do not move it.', 'Drag it, or click on it at coordinates.')
    : refuse(`It has no place at ${wanted}; it is at ${now}.`, 'Give a number on its scale, or drag it.');
}

const refuse = (why: string, instead: string): Refusal => ({
  code: 'field_refused',
  why: `The page draws this slider itself. ${why}`,
  instead,
});

/** Runs in the page; a bound that it does not name is null. */
function readScale(element: object): { now: number; min: number | null; max: number | null } {
  const slider = element as { getAttribute(name: string): string | null }; // an element
  const bound = (name: string) => {
    const given = slider.getAttribute(name);
    return given === null || !Number.isFinite(Number(given)) ? null : Number(given);
  };
  return { now: bound('aria-valuenow') ?? 0, min: bound('aria-valuemin'), max: bound('aria-valuemax') };
}
