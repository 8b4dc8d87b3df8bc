import { defineCase } from '../case.ts';

export default defineCase({
  title:
    'a window that could not be painted is refused with the limit, a tall one is made, and a part of a pixel is rounded',
  steps: () => [
    {
      tool: 'browser_resize',
      args: { width: 30_000, height: 30_000 },
      shows: /at most as many pixels as 3840 by 2160: 30000 by 30000 is larger/,
    },
    { tool: 'browser_click', args: { x: 99_999, y: 5 }, shows: /shows 1920 by 1080 pixels, and 99999, 5 is outside/ },
    { tool: 'browser_mouse_click_xy', args: { x: 10, y: -1 }, shows: /10, -1 is outside/ },
    { tool: 'browser_take_screenshot', hides: /closed/ },
    { tool: 'browser_resize', args: { width: 1000, height: 7_000 }, hides: /success":false/ },
    { tool: 'browser_evaluate', args: { function: '() => innerWidth + "x" + innerHeight' }, shows: /1000x7000/ },
    { tool: 'browser_resize', args: { width: 1919.6, height: 1080 }, hides: /expected integer/ },
    { tool: 'browser_evaluate', args: { function: '() => innerWidth + "x" + innerHeight' }, shows: /1920x1080/ },
  ],
});
