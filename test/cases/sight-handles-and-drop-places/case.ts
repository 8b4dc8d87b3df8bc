import { textOf } from '../../../runner/results/result.ts';
import { defineCase, reads, type Step } from '../case.ts';

let seen = '';
const ref = (before: RegExp): string => new RegExp(`${before.source} \\[ref=(\\w+)\\]`).exec(seen)?.[1] ?? '';
const drag = (from: RegExp, to: RegExp, shows: RegExp): Step => ({
  tool: 'browser_drag',
  get args() {
    return { startTarget: ref(from), endTarget: ref(to) };
  },
  shows,
});

export default defineCase({
  title: 'a handle of a divider, and the shape onto which another is dragged, have refs',
  steps: () => [
    {
      tool: 'browser_snapshot',
      shows: [/generic ~col-resize \[ref/, /generic ~black-rectangle \[ref/, /generic ~purple-circle \[ref/],
      check(result) {
        seen = textOf(result);
      },
    },
    drag(/~purple-circle/, /~black-rectangle/, /Moored/),
    drag(/~col-resize/, /~black-rectangle/, /Width 2\d\d/),
    reads('left.offsetWidth > 200', /true/),
  ],
});
