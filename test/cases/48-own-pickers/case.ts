import { defineCase, type Step } from '../case.ts';

const click = (name: string, shows: Step['shows'], hides: Step['hides'] = []): Step => ({
  tool: 'browser_click',
  args: { target: `button:text-is("${name}")` },
  shows,
  hides,
});
const upload: Step = { tool: 'browser_file_upload', args: { paths: ['draft.txt'] } };
const PICKER = /opened the picker of a field, which is not shown here: set the field itself/;

// Chromium refuses the File System Access pickers while file choosers are intercepted, and draws the others outside of the page.
export default defineCase({
  title: "a page's own pickers of files work by downloads and file choosers, and the others say what to do",
  steps: () => [
    click('Save', [/asked where to save a file/, /saved draft\.txt, 8 bytes/, /Download(ed|ing) file draft\.txt/]),
    { tool: 'browser_file_read', args: { name: 'draft.txt' }, shows: /One word/ },
    click('Open', /A file chooser is open: browser_file_upload/),
    { ...upload, shows: /opened file draft\.txt: One word, true/ },
    click('Copy', [/copied/, /Download(ed|ing) file copy\.txt/]),
    click('Folder', [/asked for a folder\. No folder can be given here/, /AbortError/], /setInterceptFileChooser/),
    click('Pick', /A file chooser is open/),
    { ...upload, shows: /picked draft\.txt/ },
    click('Calendar', PICKER),
    click('Sizes', PICKER),
    { tool: 'browser_type', args: { target: 'ref of textbox "Day"', text: '2026-12-24' }, hides: PICKER },
  ],
});
