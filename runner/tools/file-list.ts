import * as z from 'zod';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

/** B1 */
export const listFiles = defineTool({
  name: 'browser_file_list',
  seconds: 10,
  effect: 'reads',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'compat', 'both'],
    title: 'List files',
    description: 'Downloaded files, and those for uploads',
    input: {},
    output: { files: z.array(z.unknown()).optional() },
    async run(_args, { lease: { files } }) {
      return successResult({
        files: files.list().map(({ name, source, bytes, mime_type }) => ({ name, source, bytes, mimeType: mime_type })),
      });
    },
  }),
});
