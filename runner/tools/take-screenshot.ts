import * as z from 'zod';
import { picturesOf, withheldPicture } from '../acting/screenshot.ts';
import { findExisting } from '../acting/target.ts';
import { invalidArguments, textResult } from '../results/result.ts';
import { defineTool } from './define-tool.ts';
import type { BrowserCall } from './playwright-form.ts';

const takeArguments = z.object({
  type: z.enum(['png', 'jpeg', 'webp']).optional(),
  fullPage: z.boolean().optional(),
  target: z.string().optional(),
});

export const takeScreenshot = defineTool({
  name: 'browser_take_screenshot',
  seconds: 30,
  effect: 'reads',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Take a screenshot',
    description: 'Picture of what is visible, of the whole page, or of an element',
    args: {},
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: takePicture,
  },
});

const HIDDEN =
  'Elements that hold a credential are hidden. So are images and drawings that came after it on the same page: reload it to see them.';

/** As Playwright MCP's own, except that a picture is a JPEG where no other type is asked for. */
function takePicture(args: Record<string, unknown>, { lease: { pictures }, onPage }: BrowserCall) {
  return onPage(async page => {
    const { data, error } = takeArguments.safeParse(args);
    if (data === undefined) return invalidArguments(z.prettifyError(error));
    const { type = 'jpeg', fullPage = false, target } = data;
    if (fullPage && target !== undefined) return invalidArguments('fullPage cannot be used with element screenshots.');
    const of = target === undefined ? {} : { of: await findExisting(page, target) };
    const taken = await picturesOf(page, pictures, { fullPage, type, ...of });
    if ('withheld' in taken) return withheldPicture(taken.withheld);
    const notes = [...(pictures.isGuarding() ? [HIDDEN] : []), ...(taken.note === undefined ? [] : [taken.note])];
    return { content: [...textResult(...notes).content, ...taken.content] };
  });
}
