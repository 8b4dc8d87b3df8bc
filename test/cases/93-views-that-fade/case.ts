import { defineCase } from '../case.ts';

const open = (link: string, shows: RegExp) => ({ tool: 'browser_click', args: { target: `text="${link}"` }, shows });
const back = { tool: 'browser_navigate_back', shows: /View of start/ };

export default defineCase({
  title: 'marks, an empty view, a bar and a view that fades away are not taken for the view of the new address',
  steps: () => [
    open('marked', /View of marked/),
    back,
    open('cleared', /View of cleared/),
    back,
    open('faded', /View of faded/),
    back,
    open('moved', /View of moved/),
    back,
    open('bar', /View of bar/),
    back,
    open('hash', /View of hash/),
    back,
  ],
});
