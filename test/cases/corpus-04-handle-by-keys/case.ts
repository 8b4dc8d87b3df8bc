import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();
const right = { tool: 'browser_press_key', args: { key: 'ArrowRight' } };

export default defineCase({
  title: 'a handle that takes the focus has a ref',
  steps: () => [look(), on(/generic ~grip/, { tool: 'browser_click' }), right, right, { ...right, shows: /Done: 53/ }],
});
