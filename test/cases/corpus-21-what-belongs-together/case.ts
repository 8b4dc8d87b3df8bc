import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'what lies in one box is told as one',
  steps: () => [
    look({ shows: /- group\n - button "Order" \[ref=\w+\]\n - text: Beets/ }),
    on(/button "Order"(?=[^\n]*\n - text: Beets)/, { tool: 'browser_click', shows: /Done: Beets/ }),
  ],
});
