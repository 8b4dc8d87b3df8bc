import { DEVELOPER_WORDS, defineCase, reads, type Step } from '../case.ts';

const MEANT: readonly (readonly [key: string, heard: string])[] = [
  ['Ctrl+A', 'C+A'],
  ['Esc', 'Escape'],
  ['Return', 'Enter'],
  ['Cmd+K', 'M+K'],
  ['ctrl+shift+p', 'C+S+P'],
  ['Del', 'Delete'],
  ['page_down', 'PageDown'],
  ['Space', ' '],
  ['Plus', '+'],
];

const presses = (key: string, shows: RegExp): Step => ({ tool: 'browser_press_key', args: { key }, shows });

// laststance/electron-mcp-server#12
export default defineCase({
  title: 'keys as models write them are pressed, others are refused with the right spellings',
  steps: () => [
    ...MEANT.flatMap(([key, heard]) => [
      { tool: 'browser_press_key', args: { key, snapshot: 'none' } },
      reads('document.querySelector("#o").textContent', new RegExp(`Result\\n"${heard.replaceAll('+', '\\+')}"`)),
    ]),
    presses('é', /é/),
    { ...presses('F5x', /"code":"invalid_arguments","message":"No key is called "F5x"/), hides: DEVELOPER_WORDS },
    presses('Tab Tab', /Press one key a call/),
    presses('hello', /browser_type types a text/),
  ],
});
