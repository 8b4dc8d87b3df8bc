import { defineCase, opens, type Step } from '../case.ts';

const CODE =
  /answers a program on the person's own computer, which is not here: http:\/\/127\.0\.0\.1:9009\/callback\?code=abc123&state=s1\. Give the person/;
const click = (target: string, shows: RegExp): Step => ({ tool: 'browser_click', args: { target }, shows });

// Programs of a desktop sign in with a page that answers to a port of their own machine (RFC 8252).
export default defineCase({
  title: 'a sign-in that answers a program on the machine of its person says the whole address',
  steps: at => [
    click('text=Allow', CODE),
    opens(at),
    click('text=Post', CODE),
    opens(at),
    click('text=Token', /own computer.*http:\/\/localhost:9009\/#access_token=tok456/),
    { tool: 'browser_navigate', args: { url: `${at.url}code` }, shows: CODE },
    opens(at),
    click('text=Window', CODE),
  ],
});
