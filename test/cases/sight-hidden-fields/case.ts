import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title:
    'a label in place of a field that is not drawn has its role, state and ref, and so do players and areas without a link',
  steps: () => [
    look({
      shows: [
        /checkbox \[ref=\w+\]: Heating/,
        /checkbox \[checked\] \[ref=\w+\]: Firewood/,
        /generic \[ref=\w+\]: Map of the way/,
        /checkbox "Light" \[ref=\w+\]/,
        /checkbox \[ref=\w+\]: Door/,
        /radio "5 stars" \[ref=\w+\]/,
        /generic ~video \[ref=\w+\]/,
      ],
    }),
    on(/checkbox(?= \[ref=\w+\]: Heating)/, { tool: 'browser_click', shows: /Done: heating true/ }),
    look({ shows: /checkbox \[checked\] \[ref=\w+\]: Heating/ }),
    on(/checkbox "Light"/, { tool: 'browser_click', shows: /Done: light true/ }),
    on(/checkbox(?= \[ref=\w+\]: Door)/, { tool: 'browser_click', shows: /Done: door true/ }),
    on(/radio "5 stars"/, { tool: 'browser_click', shows: /Done: five true/ }),
    look({ shows: [/checkbox \[checked\] \[ref=\w+\]: Door/, /radio "5 stars" \[checked\]/] }),
    on(/generic "Upper bunk"/, { tool: 'browser_click', shows: /Done: bunk/ }),
  ],
});
