import { DEVELOPER_WORDS, defineCase } from '../case.ts';

export default defineCase({
  title: 'an option in the slot of a read-only box that opens a list is chosen',
  steps: () => [
    {
      tool: 'browser_fill_form',
      args: { fields: [{ name: 'Color', target: 'ref of combobox "Color"', type: 'combobox', value: 'Blue' }] },
      shows: /chose Blue/,
      hides: DEVELOPER_WORDS,
    },
    {
      tool: 'browser_select_option',
      args: { target: 'ref of combobox "Color"', values: ['Red'] },
      shows: /chose Red/,
    },
  ],
});
