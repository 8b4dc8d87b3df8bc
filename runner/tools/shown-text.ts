import type { Frame, Page } from 'playwright-core';
import { inTime, visibleFrames } from '../acting/frames.ts';
import { pageFunction, pageScript } from '../browser/page-script.ts';
import type { Conceal } from '../budget/cut.ts';
import { foldText } from '../snapshot/fold-text.ts';

const SHOWN = pageFunction<[fields: boolean]>(pageScript(new URL('./shown-text.page.js', import.meta.url)));

/** Whether a page shows a text now, in any of its visible frames, in any spelling, as a snapshot would. A frame that does not answer shows none. */
export async function showsText(page: Page, text: string): Promise<boolean> {
  const frames = await visibleFrames(page);
  // Nearly always this finds it, by the script that a snapshot needs anyway.
  const found = frames.map(frame => inTime(frame.getByText(text).filter({ visible: true }).count()));
  if ((await Promise.all(found)).some(count => (count ?? 0) > 0)) return true;
  return includes(await shownTexts(frames, true), text);
}

/** The same of the page's text without secrets, so that neither the answer nor its time says what they are; without what fields hold. */
export const showsSafeText = async (page: Page, text: string, conceal: Conceal): Promise<boolean> =>
  includes(await conceal(await shownTexts(await visibleFrames(page), false)), text);

async function shownTexts(frames: readonly Frame[], fields: boolean): Promise<string> {
  const texts = await Promise.all(frames.map(frame => inTime(frame.evaluate(SHOWN, fields))));
  return texts.filter(each => typeof each === 'string').join('\n');
}

const includes = (shown: string, wanted: string): boolean => folded(shown).includes(folded(wanted));

/** As `browser_find` compares texts; what would be nothing is compared as it is. */
const folded = (text: string): string => foldText(text).trim().toLowerCase() || text;
