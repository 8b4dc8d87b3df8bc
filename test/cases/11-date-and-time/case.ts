import { DEVELOPER_WORDS, defineCase, reads, type Step } from '../case.ts';

const types = (target: string, text: string, value: string): Step[] => [
  { tool: 'browser_type', args: { target, text, snapshot: 'none' } },
  reads(`document.querySelector("${target}").value`, new RegExp(`"${value}"`)),
];
const refuses = (target: string, text: string, form: RegExp): Step => ({
  tool: 'browser_type',
  args: { target, text },
  shows: [/field_refused/, form],
  hides: DEVELOPER_WORDS,
});

// browserbase/stagehand#1249
export default defineCase({
  title: 'dates and times are taken as people write them, or refused with the form wanted',
  steps: () => [
    ...types('#d', '03/15/2026', '2026-03-15'),
    ...types('#d', 'March 4, 2026', '2026-03-04'),
    ...types('#t', '9:30', '09:30'),
    ...types('#t', '9:30 PM', '21:30'),
    ...types('#w', '2026-03-15 09:30', '2026-03-15T09:30'),
    ...types('#m', 'March 2026', '2026-03'),
    ...types('#k', 'Week 12, 2026', '2026-W12'),
    refuses('#d', '03/04/2026', /The field takes a date as 2026-11-24/),
    refuses('#d', 'tomorrow', /a date as 2026-11-24/),
    refuses('#t', '25:00', /a time as 14:30/),
    refuses('#w', '2026-03-15', /a date and a time as 2026-11-24T14:30/),
  ],
});
