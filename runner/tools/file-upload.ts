import { defineTool } from './define-tool.ts';
import { ANSWERS } from './playwright-form.ts';
import { uploadByName } from './upload-by-name.ts';

export const fileUpload = defineTool({
  name: 'browser_file_upload',
  seconds: 30,
  effect: 'acts',
  whileTainted: { closed: 'browser_file_upload is closed' },
  shorter: null,
  playwright: {
    sets: ['playwright', 'compat', 'both'],
    title: 'Upload files',
    description: 'Answer a file chooser',
    args: { paths: 'Names of browser_file_list; left out: it is cancelled' },
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    keepsFileChooser: true,
    run: uploadByName,
  },
});
