import { chromium } from 'playwright-core';
import { findTools } from '../../local/machine-tools.ts';
import { ariaTree } from '../../runner/snapshot/aria-tree.ts';
import { outlineOf } from '../../runner/snapshot/outline.ts';
import { ratio } from '../bench/figures.ts';

const ROUNDS = 25;
const ROWS = 120;
const row = (n: number): string =>
  `<tr><td><a href="/o/${n}">#${n}</a><td><div><div>Customer ${n}</div></div><td>${n}.50 EUR<td><span>Open</span><td><button>Edit</button><button>Delete</button>`;

/** The time of a tree and its lines on a page of 1,700 elements, as a share of Playwright's own tree; medians of turns. */
export async function treeTimeRatio(): Promise<number> {
  const browser = await chromium.launch({
    executablePath: findTools(process.env).browser ?? '',
    chromiumSandbox: false,
  });
  try {
    const page = await browser.newPage();
    await page.setContent(`<table>${Array.from({ length: ROWS }, (_, n) => row(n)).join('')}</table>`);
    const own: number[] = [];
    const upstream: number[] = [];
    const time = async (times: number[], work: () => Promise<unknown>): Promise<void> => {
      const start = performance.now();
      await work();
      times.push(performance.now() - start);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await time(own, async () => outlineOf((await ariaTree(page, 10_000, AbortSignal.timeout(10_000))).tree));
      await time(upstream, () => page.ariaSnapshotJSON({ mode: 'ai' }));
    }
    const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
    return ratio(median(own), median(upstream));
  } finally {
    await browser.close();
  }
}
