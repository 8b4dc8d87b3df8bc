import { defineCase, reads } from '../case.ts';

export default defineCase({
  title: 'a radio button that takes no pointer is switched by its label, once the layer before it has gone',
  steps: () => [
    {
      tool: 'browser_fill_form',
      args: {
        fields: [
          { name: 'Right', target: '#b2', type: 'radio', value: 'true' },
          { name: 'Far away', target: '#b3', type: 'checkbox', value: 'true' },
        ],
      },
      hides: /covered|error/,
    },
    reads('b2.checked && b3.checked', /true/),
  ],
});
