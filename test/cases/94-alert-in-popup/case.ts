import { type CaseAddress, defineCase, opens, reads, type Step } from '../case.ts';

const DRAFT = 'my draft';

/** A click whose window asks something, answered from the page that opened it. */
const asks = (at: CaseAddress, button: string, dialog: RegExp): Step[] => [
  { tool: 'browser_close' },
  opens(at),
  { tool: 'browser_type', args: { target: '#i', text: DRAFT } },
  { tool: 'browser_click', args: { target: `text=${button}` }, shows: [dialog, /open in tab 1/] },
  { tool: 'browser_tabs', args: { action: 'list' }, shows: [/0: \(current\) .*94-alert-in-popup/, dialog] },
  { tool: 'browser_handle_dialog', args: { accept: true }, shows: /in tab 1 .*was answered/, hides: /is open/ },
  reads('i.value', new RegExp(DRAFT)),
];

// microsoft/playwright#42032
export default defineCase({
  title: 'a dialog in a window costs the page that opened it nothing: it is told with its tab, and answered from here',
  waits: true,
  opens: false,
  steps: at => [
    ...asks(at, 'Terms', /"alert" dialog with message "Read the terms"/),
    ...asks(at, 'Blank', /"confirm" dialog with message "Really\?"/),
    ...asks(at, 'Apart', /"alert" dialog with message "apart"/),
    ...asks(at, 'Twice', /"alert" dialog with message "first"/).slice(0, -2),
    { tool: 'browser_snapshot', shows: /This tab waits for a dialog.*first.*open in tab 1/ },
    {
      tool: 'browser_handle_dialog',
      args: { accept: true },
      shows: [/"first".*was answered/, /"second" is open in tab 1/],
    },
    { tool: 'browser_handle_dialog', args: { accept: false }, shows: /"second".*was answered/ },
    reads('i.value', new RegExp(DRAFT)),
    // From its own tab too.
    ...asks(at, 'Apart', /"apart"/).slice(0, -2),
    { tool: 'browser_tabs', args: { action: 'select', index: 1 } },
    { tool: 'browser_handle_dialog', args: { accept: true }, shows: /Terms of use/ },
    // A compatible tool answers in its own form.
    { tool: 'browser_close' },
    opens(at),
    { tool: 'browser_click', args: { selector: 'text=Terms' }, shows: /dialog_open.*Read the terms.*open in tab 1/s },
    { tool: 'browser_handle_dialog', args: { accept: true }, shows: /was answered/ },
  ],
});
