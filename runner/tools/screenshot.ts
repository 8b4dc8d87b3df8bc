import * as z from 'zod';
import { pictureOf, withheldPicture } from '../acting/screenshot.ts';
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
      const picture = await pictureOf(page, pictures, { fullPage, type: 'png' });
      if ('withheld' in picture) return withheldPicture(picture.withheld);
      const { content } = await pageResult(page, { mimeType: 'image/png' });
      return { content: [...content, picture] };
    },
    settles: 'nothing',
    snapshotAfter: false,
    imageInText: true,
  }),
});
