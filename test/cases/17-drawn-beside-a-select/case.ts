import { DEVELOPER_WORDS, defineCase } from '../case.ts';

export default defineCase({
  title: 'a list that is drawn beside a select that is put away is the one that is shown, and chosen from',
  steps: () => [
    { tool: 'browser_snapshot', shows: /combobox "Country" \[expanded=false\]/, hides: [/Germany/, /kept/] },
    {
      tool: 'browser_select_option',
      args: { target: 'ref of combobox "Country"', values: ['greece'] },
      shows: /chose Greece/,
      hides: DEVELOPER_WORDS,
    },
  ],
});
