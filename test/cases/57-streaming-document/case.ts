import { expect } from 'vitest';
import { type CaseAddress, defineCase, type Step } from '../case.ts';

/** The answer comes in 10 s on a quiet machine; it took 30 when the end of the document was awaited. */
const ANSWER_MS = 20_000;

let askedMs = 0;
const ask = () => {
  askedMs = performance.now();
};
const inTime = () => expect(performance.now() - askedMs).toBeLessThan(ANSWER_MS);
const go = ({ url }: CaseAddress, path: string, shows: readonly RegExp[]): Step[] => [
  { tool: 'browser_tabs', args: { action: 'list' }, check: ask },
  { tool: 'browser_navigate', args: { url: `${url}${path}` }, shows, check: inTime },
];

// microsoft/playwright#41513
export default defineCase({
  title: 'a document without end is shown as far as it is there, and so is one whose picture does not end',
  waits: true,
  opens: false,
  steps: at => [
    ...go(at, '', [/Build log/, /line 3/, /still loading/]),
    { tool: 'browser_snapshot', shows: /Build log/ },
    ...go(at, 'picture', [/Camera/]),
    ...go(at, 'link', [/link "Log"/]),
    { tool: 'browser_click', args: { target: 'a' }, shows: [/Build log/, /still loading/] },
  ],
});
