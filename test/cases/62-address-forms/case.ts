import { defineCase } from '../case.ts';

// microsoft/playwright-mcp#809
export default defineCase({
  title: 'an address with blanks around it opens what is meant',
  opens: false,
  steps: ({ url }) => [{ tool: 'browser_navigate', args: { url: ` ${url} ` }, shows: /Form page/ }],
});
