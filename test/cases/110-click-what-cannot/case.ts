import { expect } from 'vitest';
import { defineCase, type Step } from '../case.ts';

const SOON_MS = 3_500;

/** Refused well before the limit of the tool, which is five seconds. */
function refusedSoon(target: string, shows: RegExp, tool = 'browser_click'): Step[] {
  const hasBegun = { atMs: 0 };
  return [
    {
      tool: 'browser_evaluate',
      args: { function: '() => 1' },
      check: () => {
        hasBegun.atMs = performance.now();
      },
    },
    { tool, args: { target }, shows, check: () => expect(performance.now() - hasBegun.atMs).toBeLessThan(SOON_MS) },
  ];
}

export default defineCase({
  title: 'what is disabled, hidden or covered is told soon; a cover that says it loads is waited for',
  steps: () => [
    ...refusedSoon('#off', /The element is disabled/),
    ...refusedSoon('#hidden', /is there, but is not shown/),
    ...refusedSoon('#under', /is covered by <div id="cover">/),
    ...refusedSoon('#under', /is covered by <div id="cover">/, 'browser_hover'),
    { tool: 'browser_click', args: { target: 'option[value=us]' }, shows: /: United States/ },
    { tool: 'browser_click', args: { target: '#load' }, shows: /Page Title: loading/ },
    { tool: 'browser_click', args: { target: '#under' }, shows: /Page Title: clicked/ },
  ],
});
