import { mkdirSync, writeFileSync } from 'node:fs';
import { tokensOf } from './tokens.ts';
import { toolList } from './tool-list.ts';

// `npm run tokens`: what an agent pays for, in tokens of the encoding o200k; writes `.omicron/tokens.json`.
const figures = {
  tools_list: { default: tokensOf(await toolList('playwright')), core: tokensOf(await toolList('core')) },
};
mkdirSync('.omicron', { recursive: true });
writeFileSync('.omicron/tokens.json', `${JSON.stringify(figures, null, 2)}\n`);
process.stdout.write(`tools/list: ${figures.tools_list.default} tokens, core: ${figures.tools_list.core}\n`);
