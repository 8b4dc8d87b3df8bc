import { defineCase } from '../case.ts';

const WORDS = ['café', 'cafe\u0301', 'Kündigung', '10 000 €', 'zerowidth', 'finance ABC'];

export default defineCase({
  title: 'words with soft hyphens, other spaces and both forms of é are found and waited for',
  steps: () =>
    WORDS.flatMap(text => [
      { tool: 'browser_find', args: { text }, shows: /^Found 1 match/ },
      { tool: 'browser_wait_for', args: { text }, shows: /Waited for/ },
    ]),
});
