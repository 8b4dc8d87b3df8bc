import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { filesOf, pages, ROOMS } from './files.ts';

/** GitHub's anchor of a heading: https://docs.github.com/en/get-started/writing-on-github. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

const PAGES = new Map(await pages());
/** Anchors of a page's headings, of which equal ones are numbered, and those that it names itself. */
function anchorsOf(page: string): string[] {
  const text = PAGES.get(page) ?? '';
  const times = new Map<string, number>();
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const name = anchor(heading);
    const before = times.get(name) ?? 0;
    times.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  });
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, name = '']) => name)];
}

it('every relative link leads to a file, and its anchor to a heading', () => {
  const broken: string[] = [];
  for (const [page, text] of PAGES)
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)) {
      const [path = '', heading] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(file) || (heading !== undefined && !anchorsOf(file).includes(heading)))
        broken.push(`${page}: ${target}`);
    }
  expect(broken).toEqual([]);
});

it('every path of the repository that a page names exists', () => {
  const path = new RegExp(`\`((?:${[...ROOMS, 'docs', '\\.ci'].join('|')})/[\\w./*-]*)\``, 'g');
  const missing: string[] = [];
  for (const [page, text] of PAGES)
    for (const [, named = ''] of text.matchAll(path))
      if (globSync(named).length === 0) missing.push(`${page}: ${named}`);
  expect(missing).toEqual([]);
});

it('every page that the source cites exists', async () => {
  const missing: string[] = [];
  for (const [file, text] of await filesOf([...ROOMS, '.ci'], /\.(ts|js|sql|sh)$|Dockerfile$|\.ci\//))
    for (const [cited] of text.matchAll(/docs\/adr\/\d{4}|\bADR \d{4}|\bdocs\/[\w/-]+\.(?:md|json)/g)) {
      const adr = /\d{4}/.exec(cited);
      if (globSync(adr ? `docs/adr/${adr[0]}-*.md` : cited).length === 0) missing.push(`${file}: ${cited}`);
    }
  expect(missing).toEqual([]);
});

it('every decision is in the index, under its own title and number, in one format', () => {
  const index = PAGES.get('docs/adr/README.md') ?? '';
  const records = [...PAGES].filter(([page]) => /^docs\/adr\/\d{4}-/.test(page));
  expect(records.length).toBeGreaterThan(20);
  // Branches are given numbers of their own, so one may be missing for a while; none is used twice.
  expect(new Set(records.map(([page]) => /\d{4}/.exec(page)?.[0])).size).toBe(records.length);
  for (const [page, text] of records) {
    const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? [];
    expect(page).toContain(`/${number}-`);
    const status = /^Status: (measurement|amended by \[\d{4}\]\([^)]+\))\./m.exec(text)?.[1];
    expect(index, page).toContain(
      `| [${number}](${page.slice('docs/adr/'.length)}) | ${title} |${status === undefined ? '' : ` ${status}`} |\n`,
    );
    expect(
      [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading),
      page,
    ).toEqual(['Context', 'Decision', 'Consequences']);
  }
});
