import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'editable boxes are fields with refs, the empty one with its hint',
  steps: () => [
    look({ shows: [/textbox[^\n]*\[placeholder=Write here\]/, /textbox[^\n]*: Dear neighbours/] }),
    on(/textbox[^\n]*placeholder/, { tool: 'browser_type', args: { text: 'Rain again' } }),
    on(/textbox(?=[^\n]*Dear neighbours)/, { tool: 'browser_type', args: { text: 'Dear all' } }),
    on(/button "Post it"/, { tool: 'browser_click', shows: /Done: Rain again \| Dear all/ }),
  ],
});
