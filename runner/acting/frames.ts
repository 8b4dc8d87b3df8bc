import type { ElementHandle, Frame, Page } from 'playwright-core';
import * as z from 'zod';
import { within } from '../../time/within.ts';
import { pageScript } from '../browser/page-script.ts';
import { isWithoutDocument, playwrightFrame } from '../browser/playwright-frame.ts';

/** A document of a page that a person sees. */
export interface ShownFrame {
  readonly frame: Frame;
  /** A selector of its document, as one of the page. */
  selectorOf(inner: string): string;
}

const FRAMES_MAX = 20;
const ANSWER_MS = 2_000;

const CONTENT = `(${pageScript(new URL('./content.page.js', import.meta.url))})`;

/** The content of a document, or the selector of one of its elements, in the page's own words: nothing here is trusted. */
export async function contentOf(
  frame: Frame,
  wanted: 'text' | 'html' | 'links' | 'outline' | ElementHandle,
): Promise<unknown> {
  await using read = await frame.evaluateHandle<(wanted: unknown) => unknown>(CONTENT);
  return await read.evaluate((of, asked) => of(asked), wanted);
}

/** The page's own document and those of its visible frames, outer ones first; without frames that do not answer. */
export async function shownFrames(page: Page): Promise<ShownFrame[]> {
  const chains = new Map([[page.mainFrame(), '']]);
  for (const [parent, chain] of chains)
    for (const frame of framesIn(parent)) {
      const selector = chains.size < FRAMES_MAX ? await inTime(selectorOf(parent, frame)) : undefined;
      if (selector !== undefined) chains.set(frame, `${chain}frameLocator(${quoted(selector)}).`);
    }
  return [...chains].map(([frame, chain]) => ({
    frame,
    selectorOf: inner => (chain === '' ? inner : `${chain}locator(${quoted(inner)})`),
  }));
}

/** The page's own document and those of its visible frames, outer ones first. */
export async function visibleFrames(page: Page): Promise<Frame[]> {
  const frames = [page.mainFrame()];
  for (const parent of frames)
    for (const frame of framesIn(parent))
      if (frames.length < FRAMES_MAX && (await inTime(frame.frameElement().then(each => each.isVisible()))) === true)
        frames.push(frame);
  return frames;
}

/** Those that have a document; whatever is asked of another one waits. */
const framesIn = (parent: Frame): Frame[] =>
  parent.childFrames().filter(frame => !isWithoutDocument(playwrightFrame(frame)));

/** The answer of a document; undefined: none, or not in time. */
export const inTime = <T>(answer: Promise<T>): Promise<T | undefined> => within(answer, ANSWER_MS);

/** The selector of the element that shows the frame; undefined: nothing of it is seen. */
async function selectorOf(parent: Frame, frame: Frame): Promise<string | undefined> {
  const element = await frame.frameElement();
  if (!(await element.isVisible())) return undefined;
  return z.string().parse(await contentOf(parent, element));
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
