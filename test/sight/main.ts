import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CORPUS, corpusPages, installCorpus } from './corpus.ts';
import { measurePages } from './measure-pages.ts';
import { serveCorpus } from './site.ts';
import { solveTasks } from './solve-tasks.ts';
import { treeTimeRatio } from './tree-time.ts';

// `npm run sight [-- --only PATTERN] [--missed]`: what snapshots show of pages that packages bring, beside what a person sees there, and which
// tasks of MiniWoB++ answers of tools are enough for; writes section `sight` of `.omicron/sight.json`.
const SEEDS = [1, 2, 3];
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
  const shown = {
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
  const tasks = await solveTasks(site.origin, SEEDS, new RegExp(values.only));
  for (const { name, goal, solved, isScripted, problem } of tasks)
    if (values.missed && solved < SEEDS.length)
      process.stdout.write(
        `## ${name}: ${isScripted ? `${solved} of ${SEEDS.length}` : 'no script'}; ${goal}; ${problem.slice(0, 200)}\n`,
      );
  const scripted = tasks.filter(({ isScripted }) => isScripted);
  const sight = {
    ...shown,
    tree_ms_ratio: await treeTimeRatio(),
    miniwob: {
      tasks: scripted.length,
      solved: scripted.filter(({ solved }) => solved === SEEDS.length).length,
      // No solver names an element by anything but its ref, or searches for it.
      guesses: scripted.filter(({ guesses }) => guesses > 0).length,
      finds: scripted.filter(({ finds }) => finds > 0).length,
    },
  };
  writeFileSync('.omicron/sight.json', `${JSON.stringify({ sight }, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(sight)}\n`);
} finally {
  site.close();
}
