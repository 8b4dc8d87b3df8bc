import { expect } from 'vitest';
import { type CaseAddress, defineCase, type Step } from '../case.ts';

/** On a quiet machine a broken one takes a tenth of it; all took 5 to 16 s while the load of the document was awaited. */
const BROKEN_MS = 4_000;
const ENDLESS_MS = 10_000;

/** A busy machine takes as many times longer for a whole page, which is measured first. */
const PLAIN_TIMES = 10;

let plainMs = 0;
let askedMs = 0;
const ask = () => {
  askedMs = performance.now();
};
const timed = (step: Step, ms = BROKEN_MS): Step[] => [
  { tool: 'browser_tabs', args: { action: 'list' }, check: ask },
  { ...step, check: () => expect(performance.now() - askedMs).toBeLessThan(ms + PLAIN_TIMES * plainMs) },
];
const go = ({ url }: CaseAddress, path: string, shows: Step['shows'], ms?: number): Step[] =>
  timed({ tool: 'browser_navigate', args: { url: `${url}${path}` }, shows }, ms);

const BROKE_OFF = /broke off on its way/;

export default defineCase({
  title: 'a document that breaks off is answered at once as far as it came, and one that hangs within 10 s',
  waits: true,
  steps: at => [
    { tool: 'browser_tabs', args: { action: 'list' }, check: ask },
    {
      ...{ tool: 'browser_navigate', args: { url: at.url }, shows: /link "Short"/ },
      check: () => {
        plainMs = performance.now() - askedMs;
      },
    },
    ...go(at, 'short', [/Half a page/, BROKE_OFF]),
    ...go(at, 'gzip', /Report/),
    ...go(at, 'chunk', [/Half a chunk/, BROKE_OFF]),
    ...go(at, 'cut', [/Page URL: .*cut\n/, BROKE_OFF, /### Snapshot/]),
    ...go(at, 'endless', [/Half packed/, /still loading/], ENDLESS_MS),
    ...go(at, 'empty', [/still loading/, /### Snapshot/], ENDLESS_MS),
    { tool: 'browser_navigate', args: { url: at.url }, shows: /link "Short"/, hides: BROKE_OFF },
    ...timed({ tool: 'browser_click', args: { target: 'a[href=short]' }, shows: [/Half a page/, BROKE_OFF] }),
  ],
});
