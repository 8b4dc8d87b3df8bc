import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'rows of a list that listens for them have refs, and boxes that differ in class or color have guesses that do',
  steps: () => [
    look({
      shows: [
        /listitem \[ref=\w+\]: Plums/,
        /row: 1 \[ref=\w+\] \| 2 \[ref=\w+\]/,
        /generic ~red \[ref=\w+\]\n - generic ~blue|generic ~red \[ref=\w+\]\n- generic ~blue/,
        /generic ~step-up/,
        /generic ~step-down/,
      ],
    }),
    on(/listitem(?= \[ref=\w+\]: Quinces)/, { tool: 'browser_click', shows: /Done: Quinces/ }),
    on(/generic ~blue/, { tool: 'browser_click', shows: /Done: second/ }),
  ],
});
