import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'the days of a grid have refs',
  steps: () => [look(), on(/row: 15/, { tool: 'browser_click', shows: /Done: 15/ })],
});
