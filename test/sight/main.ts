import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CORPUS, corpusPages, installCorpus } from './corpus.ts';
import { measurePages } from './measure-pages.ts';
import { serveCorpus } from './site.ts';

// `npm run sight [-- --only PART] [--missed]`: what snapshots show of pages that packages bring, beside what a person sees there; writes
// section `sight` of `.omicron/sight.json`.
const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, missed: { type: 'boolean', default: false } },
});

installCorpus();
mkdirSync(`${CORPUS}/answers`, { recursive: true });
const site = await serveCorpus();
try {
  const pages = await measurePages(
    site.origin,
    corpusPages().filter(path => new RegExp(values.only).test(path)),
  );
  const sum = (of: (page: (typeof pages)[number]) => number) => pages.reduce((total, page) => total + of(page), 0);
  const share = (part: number, whole: number) => Math.round((1_000 * part) / whole) / 1_000;
  if (values.missed)
    for (const page of pages) {
      writeFileSync(`${CORPUS}/answers/${page.path.replaceAll('/', '_')}.txt`, page.answer);
      process.stdout.write(
        `## ${page.path} ${page.shown}/${page.controls} ${page.told}/${page.characters} ${page.tokens}/${page.tokensUpstream} ${page.fits}\n`,
      );
      for (const each of page.missedControls) process.stdout.write(`  - ${each}\n`);
      for (const each of page.missedTexts) process.stdout.write(`  = ${each.slice(0, 200)}\n`);
    }
  const ratios = pages.map(({ tokens, tokensUpstream }) => tokens / tokensUpstream).sort((a, b) => a - b);
  const sight = {
    pages: pages.length,
    shown: share(
      sum(({ shown }) => shown),
      sum(({ controls }) => controls),
    ),
    text: share(
      sum(({ told }) => told),
      sum(({ characters }) => characters),
    ),
    fitting: pages.filter(({ fits }) => fits).length,
    collapsed_though_fits: pages.filter(({ isCollapsed }) => isCollapsed).length,
    tokens_ratio: Math.round(100 * (ratios[Math.floor(ratios.length / 2)] ?? 0)) / 100,
  };
  mkdirSync('.omicron', { recursive: true });
  writeFileSync('.omicron/sight.json', `${JSON.stringify({ sight }, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(sight)}\n`);
} finally {
  site.close();
}
