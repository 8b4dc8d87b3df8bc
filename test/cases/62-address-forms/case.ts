import { DEVELOPER_WORDS, defineCase } from '../case.ts';

// microsoft/playwright-mcp#809, qabyai/playwright-mcp#6
export default defineCase({
  title: 'an address as models write it opens what is meant, or is refused as none',
  opens: false,
  steps: ({ url, host }) => [
    ...[` ${url} `, `${host}/62-address-forms/`, url.replace('http', 'HTTP'), '/62-address-forms/x', `<${url}>`].map(
      address => ({ tool: 'browser_navigate', args: { url: address }, shows: /Form page/ }),
    ),
    {
      tool: 'browser_navigate',
      args: { url: 'not a url' },
      shows: [/invalid_arguments/, /"not a url" is no address/],
      hides: DEVELOPER_WORDS,
    },
    {
      tool: 'browser_navigate',
      args: { url: 'http://127.0.0.1:1/' },
      shows: /Nothing answers at this host and port|Browsers open no pages at this port/,
      hides: /Call log|page\.goto/,
    },
    { tool: 'browser_tabs', args: { action: 'new', url: `${host}/62-address-forms/` }, shows: /62-address-forms/ },
  ],
});
