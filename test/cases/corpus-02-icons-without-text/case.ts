import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'an icon without a text has a ref and a guess of its purpose',
  steps: () => [look(), on(/Boat(?:.|\n)*?~act-pin/, { tool: 'browser_click', shows: /Done: pin Boat/ })],
});
