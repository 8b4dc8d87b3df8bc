import { textOf } from '../../../runner/results/result.ts';
import { defineCase, type Step } from '../case.ts';

let seen = '';
const ref = (line: RegExp): string => line.exec(seen)?.[1] ?? 'missing';
const drag = (to: RegExp, shows: RegExp): Step => ({
  tool: 'browser_drag',
  get args() {
    return { startTarget: ref(/article \[ref=(\w+)\]: Moby-Dick/), endTarget: ref(to) };
  },
  shows,
});

export default defineCase({
  title: 'an element that says that it takes drops has a ref, wherever it is',
  steps: () => [
    {
      tool: 'browser_snapshot',
      shows: /paragraph: Two targets this year/,
      check(result) {
        seen = textOf(result);
      },
    },
    drag(/generic \[ref=(\w+)\]: Later/, /Book 7 is in later/),
    drag(/generic \[ref=(\w+)\]\n +- text: Read/, /Book 7 is in read/),
  ],
});
