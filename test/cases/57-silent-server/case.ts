import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a server that stays silent costs neither the tab nor what was typed there, and a slow one is waited for',
  waits: true,
  steps: () => [
    { tool: 'browser_type', args: { target: '#note', text: 'two boxes' } },
    {
      tool: 'browser_click',
      args: { target: 'button' },
      shows: /silent\? did not begin to answer within \d+ s and was given up; the tab is where it was/,
    },
    { tool: 'browser_snapshot', shows: [/two boxes/, /button "Send"/] },
    { tool: 'browser_click', args: { target: '#beside' }, shows: /A window opens once \S+silent answers/ },
    { tool: 'browser_click', args: { target: '#slow' }, shows: /heading "Slow report"/, hides: /given up/ },
    { tool: 'browser_navigate_back', shows: /button "Send"/ },
  ],
});
