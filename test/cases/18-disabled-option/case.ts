import { expect } from 'vitest';
import { DEVELOPER_WORDS, defineCase, type Step } from '../case.ts';

let askedMs = 0;
const timed = (step: Step): Step[] => [
  {
    tool: 'browser_tabs',
    args: { action: 'list' },
    check() {
      askedMs = performance.now();
    },
  },
  // 5 s before, which is Playwright's limit for an action.
  { ...step, hides: DEVELOPER_WORDS, check: () => expect(performance.now() - askedMs).toBeLessThan(3_000) },
];

export default defineCase({
  title: 'a click on an option that is disabled says so at once, with what is offered',
  steps: () => [
    ...timed({
      tool: 'browser_click',
      args: { target: 'select:enabled option:disabled' },
      shows: /The option "Gold" is disabled.*Choose one of: "Free", "Team"/s,
    }),
    ...timed({
      tool: 'browser_click',
      args: { selector: 'select:enabled option:disabled' },
      shows: /The option "Gold" is disabled/,
    }),
    ...timed({
      tool: 'browser_click',
      args: { target: 'select:disabled option:last-child' },
      shows: /The option "South" is disabled/,
    }),
    ...timed({ tool: 'browser_click', args: { target: 'option' }, shows: /names 5 elements of the page/ }),
    { tool: 'browser_click', args: { target: 'option >> text=Team' }, shows: /combobox "Plan".*Team/ },
  ],
});
