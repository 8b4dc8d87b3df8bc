import { expect } from 'vitest';
import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a click whose handler rewrites the page, or empties it, is done',
  steps: () => [
    {
      tool: 'browser_click',
      args: { target: '#write' },
      shows: /heading "Written"/,
      check: ({ isError }) => expect(isError).not.toBe(true),
    },
    {
      tool: 'browser_click',
      args: { target: '#empty' },
      hides: /No element|names no element/,
      check: ({ isError }) => expect(isError).not.toBe(true),
    },
  ],
});
