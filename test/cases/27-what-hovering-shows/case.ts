import { defineCase } from '../case.ts';

export default defineCase({
  title: 'the answer to a hover tells what it brought, and to a wheel what came into sight',
  steps: at => [
    { tool: 'browser_hover', args: { target: 'text=1912' }, shows: /link "Wharf of Cork" \[ref=/ },
    { tool: 'browser_click', args: { target: 'text=Wharf of Cork' }, shows: /Done: wharf/ },
    { tool: 'browser_navigate', args: { url: `${at.url}long.html` } },
    { tool: 'browser_mouse_wheel', args: { deltaX: 0, deltaY: 3000 }, shows: /More came/ },
  ],
});
