import { defineCase } from '../case.ts';

export default defineCase({
  title: 'an answer says what a field made of a text, unless it is the same in another form',
  steps: () => [
    { tool: 'browser_type', args: { target: '#zip', text: '1234567' }, shows: /The field holds "12345" now\./ },
    {
      tool: 'browser_fill_form',
      args: {
        fields: [
          { name: 'Age', target: '#age', type: 'textbox', value: 'old' },
          { name: 'Phone', target: '#phone', type: 'textbox', value: '212 5550123' },
        ],
      },
      shows: [/"Age": The field holds "" now\./, /\+1 \(212\) 5550123/],
      hides: /"Phone": /,
    },
    {
      tool: 'browser_type',
      args: { target: '#trick', text: 'abc' },
      shows: /The field holds/,
      hides: /holds "[^"]*\[ref=/,
    },
  ],
});
