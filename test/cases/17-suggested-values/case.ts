import { DEVELOPER_WORDS, defineCase } from '../case.ts';

export default defineCase({
  title: 'a value that a field suggests is chosen, and no other',
  steps: () => [
    {
      tool: 'browser_select_option',
      args: { target: '#i', values: ['firefox'] },
      shows: /chose Firefox/,
      hides: DEVELOPER_WORDS,
    },
    {
      tool: 'browser_select_option',
      args: { target: '#i', values: ['Lynx'] },
      shows: [/option_not_found/, /"Chrome", "Firefox"/],
    },
  ],
});
