import { defineCase } from '../case.ts';

// A page may show a PDF by an element of its own, which headless browsers leave blank.
export default defineCase({
  title: 'a PDF that a page embeds is told with its address, and how its text is read',
  steps: ({ url }) => [
    {
      tool: 'browser_snapshot',
      shows: [
        /document "PDF": not drawn here; browser_navigate to its address/,
        /its text \S*51-pdf-in-a-page\/november\.pdf/,
        /its text \S*51-pdf-in-a-page\/october/,
        /its text \S*51-pdf-in-a-page\/december\.pdf/,
        /its text \S*51-pdf-in-a-page\/terms\.pdf/,
        /Your browser shows no PDF/,
      ],
      hides: /film\.mp4|about\.html/,
    },
    { tool: 'browser_navigate', args: { url: `${url}november.pdf` }, shows: /november\.pdf/ },
    { tool: 'browser_file_read', args: { name: 'november.pdf' }, shows: /Total 123\.45 EUR/ },
  ],
});
