import { DEVELOPER_WORDS, defineCase, reads, type Step } from '../case.ts';

const selects = (text: string): Step => ({
  tool: 'browser_select_option',
  args: { target: '#c', values: [text] },
  hides: DEVELOPER_WORDS,
});

// ChromeDevTools/chrome-devtools-mcp#735, forjd/browse#38
export default defineCase({
  title: 'an option of a list that the page draws itself is chosen',
  steps: () => [
    { tool: 'browser_select_option', args: { target: 'ref of combobox "Size"', values: ['Large'] } },
    reads('c.textContent', /"Large"/),
    selects('medium'),
    reads('c.textContent', /"Medium"/),
    { ...selects('Huge'), shows: [/option_not_found/, /"Small", "Medium", "Large"/] },
    {
      tool: 'browser_fill_form',
      args: { fields: [{ name: 'Size', target: '#c', type: 'combobox', value: 'Small' }] },
    },
    reads('c.textContent', /"Small"/),
  ],
});
