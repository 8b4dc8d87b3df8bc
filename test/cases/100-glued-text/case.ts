import { defineCase } from '../case.ts';

const APART = [/10 20/, /€70 80/, /Save draft/, /3 4/];

export default defineCase({
  title: 'what stands apart on the page stands apart in the snapshot',
  steps: () => [
    { tool: 'browser_snapshot', shows: APART, hides: /1020|3040|5060|7080|9095|Savedraft|\b12\b|\b34\b/ },
    { tool: 'browser_find', args: { text: '10 20' }, shows: /^Found 1 match/ },
    { tool: 'browser_wait_for', args: { text: '10 20' }, shows: /Waited for/ },
  ],
});
