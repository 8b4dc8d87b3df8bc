import { defineCase, reads, type Step } from '../case.ts';

const fills = (value: unknown): Step => ({
  tool: 'browser_fill_form',
  args: {
    fields: ['a', 'b'].map(id => ({ name: id, target: `#${id}`, type: 'checkbox', value })),
  },
});
const ticked = (state: boolean): Step => reads('[a.checked, b.checked].join()', new RegExp(`"${state},${state}"`));

// ChromeDevTools/chrome-devtools-mcp#1942
export default defineCase({
  title: 'a checkbox is ticked by what means so, and by nothing else',
  steps: () => [
    ...['True', 'on', 'yes', 'checked', '1', true].flatMap(value => [
      fills(value),
      ticked(true),
      fills('false'),
      ticked(false),
    ]),
    { ...fills('perhaps'), shows: [/option_not_found/, /"true", "false"/, /Alpha/, /none was filled in/] },
    ticked(false),
    { ...fills('alpha'), shows: [/option_not_found/, /the 1 before it were filled in/] },
    reads('[a.checked, b.checked].join()', /"true,false"/),
  ],
});
