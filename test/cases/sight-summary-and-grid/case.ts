import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title:
    'a summary that holds a heading, rows of a grid and a document in design mode have refs; what is inert is disabled',
  steps: () => [
    look({
      shows: [
        /generic \[expanded=false\] \[ref=\w+\]\n *- heading "Timetable"/,
        /button "Anchor" \[disabled\]/,
        /textbox \[ref=\w+\]: Log of the day/,
      ],
    }),
    on(/row(?= \[ref=\w+\]: Mate)/, { tool: 'browser_click', shows: /Done: mate/ }),
    look(),
    on(/generic \[expanded=false\]/, { tool: 'browser_click', shows: /Leaves at noon/ }),
  ],
});
