import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'a slider by role tells its value and its bounds, before and after each key',
  steps: () => [
    look({ shows: /slider "Brightness" \[max=100\] \[min=0\] \[ref=\w+\]: 62/ }),
    on(/slider/, { tool: 'browser_click' }),
    { tool: 'browser_press_key', args: { key: 'ArrowRight' }, shows: /slider "Brightness"[^\n]*: 63/ },
  ],
});
