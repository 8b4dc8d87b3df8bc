import { DEVELOPER_WORDS, defineCase } from '../case.ts';

// microsoft/playwright-mcp#1316
export default defineCase({
  title: 'a site with a self-signed certificate is refused with what its operator can do',
  opens: false,
  steps: ({ secureHost }) => [
    {
      tool: 'browser_navigate',
      args: { url: `https://${secureHost}/59-self-signed/` },
      shows: [/The certificate of the site is not trusted: it is self-signed/, /OMICRON_CHROMIUM_CA/],
      hides: DEVELOPER_WORDS,
    },
  ],
});
