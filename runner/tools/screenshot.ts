import * as z from 'zod';
import { picturesOf, withheldPicture } from '../acting/screenshot.ts';
import { pageResult } from '../results/result.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

export const screenshot = defineTool({
  name: 'browser_screenshot',
  seconds: 30,
  effect: 'reads',
  whileTainted: 'open',
  shorter: null,
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Take a screenshot',
    description: 'Take a screenshot of the current page, or of all of it',
    input: {
      fullPage: z.boolean().default(false).describe('Also what lies below the visible part'),
      imageText: z.boolean().optional().describe('The picture as base64 in the text too, as "image"'),
    },
    compatible: true,
    output: { mimeType: z.string().optional(), image: z.string().optional() },
    async run({ fullPage }, { page, lease: { pictures } }) {
      const taken = await picturesOf(page, pictures, { fullPage, type: 'png' });
      if ('withheld' in taken) return withheldPicture(taken.withheld);
      const hints = taken.note === undefined ? [] : [taken.note];
      const { content } = await pageResult(page, { mimeType: 'image/png' }, hints);
      return { content: [...content, ...taken.content] };
    },
    settles: 'nothing',
    snapshotAfter: false,
    imageInText: true,
  }),
});
