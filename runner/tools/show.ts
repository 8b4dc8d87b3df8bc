import { SHOW_TOOL } from '../../contract/app-names.ts';
import { SHOW } from '../../contract/mcp-app.ts';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

/** M3: the call itself shows nothing. Its host opens the page that is bound to the tool; the list for clients that show apps names it. */
export const show = defineTool({
  name: SHOW_TOOL,
  seconds: 10,
  effect: 'reads',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: SHOW.title ?? SHOW_TOOL,
    description: SHOW.description,
    input: {},
    output: {},
    run: async () => successResult({ status: 'The person sees the browser, live.' }),
  }),
});
