import { writeFileSync } from 'node:fs';
import { toolList } from './tool-list.ts';
import { toolListsFile } from './tool-lists-file.ts';

// `npm run tools`: writes what runners list where programs read it that have no runner.
const lists = {
  playwright: await toolList('playwright'),
  core: await toolList('core'),
  compat: await toolList('compat'),
  both: await toolList('both'),
};
writeFileSync('contract/tool-list.json', toolListsFile(lists));
