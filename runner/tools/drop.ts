import { defineTool } from './define-tool.ts';
import { ANSWERS } from './playwright-form.ts';
import { uploadByName } from './upload-by-name.ts';

export const drop = defineTool({
  name: 'browser_drop',
  seconds: 30,
  effect: 'acts',
  whileTainted: { closed: 'nothing is dropped' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Drop files or data onto an element',
    description: 'As if dragged from elsewhere',
    args: { paths: 'Names of browser_file_list', data: 'Text' },
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    run: (args, call) => uploadByName(withTypedData(args), call),
  },
});

/** Data by MIME type, as Playwright MCP takes it; a text is plain text. */
const withTypedData = (args: Record<string, unknown>): Record<string, unknown> =>
  typeof args.data === 'string' ? { ...args, data: { 'text/plain': args.data } } : args;
