import { mkdirSync, writeFileSync } from 'node:fs';
import { TOKENS_MAX } from '../../runner/budget/fit.ts';
import type { PageName } from './pages.ts';
import { tenActions } from './ten-actions.ts';
import { tokensOf } from './tokens.ts';
import { toolList } from './tool-list.ts';

// `npm run tokens`: what an agent pays for, in tokens of the encoding o200k; writes `.omicron/tokens.json`. The snapshots before
// are Playwright MCP's own, without our budget.
const before = await tenActions('playwright', TOKENS_MAX);
const now = await tenActions('changes');
const both = (page: PageName) => ({ before: before[page], now: now[page] });
const figures = {
  tools_list: { default: tokensOf(await toolList('playwright')), core: tokensOf(await toolList('core')) },
  pages: { small: both('small'), table: both('table'), form: both('form') },
};
mkdirSync('.omicron', { recursive: true });
writeFileSync('.omicron/tokens.json', `${JSON.stringify(figures, null, 2)}\n`);
process.stdout.write(`tools/list: ${figures.tools_list.default} tokens, core: ${figures.tools_list.core}\n`);
for (const [page, { before: was, now: is }] of Object.entries(figures.pages))
  process.stdout.write(`ten actions, ${page}: ${was} tokens with Playwright MCP's snapshots, ${is} with ours\n`);
