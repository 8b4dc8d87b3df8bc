import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'words that act have refs within their sentence',
  steps: () => [
    look({ shows: /you see "gulls" \[ref=\w+\] , two "cranes" \[ref=\w+\] and the old "ferry" \[ref=\w+\]/ }),
    on(/"cranes"/, { tool: 'browser_click', shows: /Done: cranes/ }),
    { tool: 'browser_find', args: { text: 'you see gulls' }, shows: /^Found 1 match/ },
  ],
});
