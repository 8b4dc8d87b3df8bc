import { DEVELOPER_WORDS, defineCase } from '../case.ts';

const clicks = (text: string, shows: RegExp) => ({ tool: 'browser_click', args: { target: `text=${text}` }, shows });

// microsoft/playwright#39600, Feodor2/Mypal68#167
export default defineCase({
  title: 'a link to a program outside of the browser is told with its address',
  steps: ({ url }) => [
    clicks('Mail', /a program outside of the browser: mailto:ada@example\.org\?subject=Hi/),
    clicks('Call', /tel:\+123/),
    clicks('Join', /zoommtg:\/\/zoom\.us\/join\?confno=1/),
    clicks('Authorize', /com\.example\.app:\/callback\?code=abc123/),
    {
      tool: 'browser_navigate',
      args: { url: `${url}r` },
      shows: [/program outside of the browser/, /com\.example\.app:\/callback\?code=abc123/],
      hides: DEVELOPER_WORDS,
    },
    {
      tool: 'browser_evaluate',
      args: { function: '() => { location.href = "msteams:/l/meetup" }' },
      shows: /msteams:\/l\/meetup/,
    },
    {
      tool: 'browser_evaluate',
      args: { function: '() => { open("slack://channel?id=7") }' },
      shows: /slack:\/\/channel\?id=7/,
    },
    { tool: 'browser_navigate', args: { url: 'mailto:ada@example.org' }, shows: /a program outside of the browser/ },
  ],
});
