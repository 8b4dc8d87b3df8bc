import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a line of a shadow root that is set in several words can be waited for',
  steps: () => [
    { tool: 'browser_wait_for', args: { text: 'Order 12 is saved' }, shows: /Waited for Order 12 is saved/ },
  ],
});
