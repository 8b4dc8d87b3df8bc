import { defineCase, type Step } from '../case.ts';

const click: Step = { tool: 'browser_click', args: { target: 'text=Delete' } };

export default defineCase({
  title: 'a call on a page whose own dialog is open is refused, and says what to do',
  steps: () => [
    { tool: 'browser_type', args: { target: 'input', text: 'my draft' } },
    { ...click, shows: /"confirm" dialog with message "Delete it\?": answer it with browser_handle_dialog/ },
    {
      ...click,
      shows: [/dialog_open/, /A dialog is open on the page/],
      hides: /modal state/,
    },
    { tool: 'browser_handle_dialog', args: { accept: false }, shows: /kept/ },
    { tool: 'browser_snapshot', shows: /textbox "Draft".*: my draft/ },
  ],
});
