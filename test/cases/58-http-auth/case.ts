import { defineCase } from '../case.ts';

// microsoft/playwright-mcp#540
export default defineCase({
  title: 'a page that asks for a password by HTTP says so, and an address opens it without repeating it',
  opens: false,
  steps: ({ url, host }) => [
    {
      tool: 'browser_navigate',
      args: { url },
      shows: [
        /401 Authorization Required/,
        /asks for a username and a password by HTTP \(Basic, realm "Staging"\)/,
        /NAME:PASSWORD@127/,
      ],
    },
    {
      tool: 'browser_navigate',
      args: { url: url.replace(host, `ada:pw@${host}`) },
      shows: /Inside/,
      hides: /ada:pw/,
    },
    { tool: 'browser_tabs', args: { action: 'list' }, shows: /58-http-auth/, hides: /ada:pw/ },
  ],
});
