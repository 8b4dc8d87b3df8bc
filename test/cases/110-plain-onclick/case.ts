import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();
const click = (row: RegExp, shows: RegExp) => on(row, { tool: 'browser_click', shows });

export default defineCase({
  title: 'rows that react by a listener, an onclick attribute or tabindex have refs',
  steps: () => [
    look({ shows: ['onclick', 'listener', 'tabindex'].map(by => new RegExp(`\\[ref=\\w+\\]: Row with ${by}`)) }),
    click(/- generic(?=[^\n]*Row with onclick)/, /paragraph: a/),
    click(/- generic(?=[^\n]*Row with listener)/, /paragraph: b/),
    click(/- listitem(?=[^\n]*Item with onclick)/, /paragraph: d/),
  ],
});
