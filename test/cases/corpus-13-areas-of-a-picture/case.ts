import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'areas of a picture are links with names, and are clicked by their refs',
  steps: () => [
    look({ shows: /link "Pond" \[ref=\w+\] #pond/ }),
    on(/link "Pond"/, { tool: 'browser_click', shows: /#pond/ }),
  ],
});
