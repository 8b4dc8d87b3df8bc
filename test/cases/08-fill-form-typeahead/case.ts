import { defineCase, reads, type Step } from '../case.ts';

const fills = (type: string, value: string, target = '#q'): Step => ({
  tool: 'browser_fill_form',
  args: { fields: [{ name: 'Search', target, type, value }] },
});

// ChromeDevTools/chrome-devtools-mcp#975
export default defineCase({
  title: 'a text input with role combobox is filled whatever type the agent names',
  steps: () => [
    fills('combobox', 'today news'),
    reads('document.querySelector("#q").value', /"today news"/),
    fills('textbox', 'tomorrow'),
    reads('document.querySelector("#q").value', /"tomorrow"/),
    fills('textbox', 'by its ref', 'ref of combobox "Search"'),
    reads('document.querySelector("#q").value', /"by its ref"/),
  ],
});
