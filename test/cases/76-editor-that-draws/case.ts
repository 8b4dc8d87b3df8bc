import { defineCase, reads, type Step } from '../case.ts';

const type = (target: string, text: string): Step => ({ tool: 'browser_type', args: { target, text }, hides: /holds/ });
const texts = "[...document.querySelectorAll('.text')].map(each => each.textContent).join('|')";

export default defineCase({
  title: 'text typed into an editor that draws it takes the place of what the editor shows',
  steps: () => [
    type('#small textarea', 'const x = 1;\nreturn x;'),
    type('#clear', 'y'),
    reads(texts, /const x = 1;\\nreturn x;\|y/),
    type('#clear', ''),
    reads(texts, /return x;\|"/),
    // Keys would go to the field that has the focus.
    { tool: 'browser_click', args: { target: '#name' } },
    { tool: 'browser_type', args: { target: '#source', text: 'lost' }, shows: /not shown/ },
    reads('document.querySelector("#name").value', /""/),
  ],
});
