import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();
const open = (name: string) =>
  on(new RegExp(`listitem(?= \\[ref=\\w+\\][^\\n]*${name}|[^\\n]*\\n *- text: ${name})`), {
    tool: 'browser_click',
    shows: new RegExp(`Done: ${name}`),
  });

export default defineCase({
  title: 'an item in an item has a ref',
  steps: () => [look(), open('Chests'), look(), open('Letters'), look(), open('From Riga')],
});
