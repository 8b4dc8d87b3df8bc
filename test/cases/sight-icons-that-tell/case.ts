import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title:
    'icons are named by what says what they are, not by the classes of a suite; a cell that is an icon is named for it',
  steps: () => [
    look({
      shows: [
        /button ~Archive \[ref/,
        /button ~add-delivery \[ref/,
        /button ~truck \[ref/,
        /button ~printer \[ref/,
        /button ~close \[ref/,
        /- button \[ref=\w+\]\n/,
        /row: Rye \| ~check \| ~xmark\n/,
        /row: Oats \| img "pending" \| ?\n/,
      ],
      hides: [/Mui|el-button|v-btn|button ""/],
    }),
    on(/button ~truck/, { tool: 'browser_click', shows: /Done: el-button/ }),
  ],
});
