/**
 * The cost of guarded pictures: `npm run bench -- pictures [--rounds 20]`. The same screenshot taken by the guard and
 * without it, in turns: in a lease in which nothing was filled in, after a login, and while the login page is there.
 * Then frames a second of the video of a page that moves, and clicks while it is recorded. Writes section `pictures`
 * of `.omicron/bench.json`.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FIELD, fill, greenIn, shoot, startPictureSite, type Tab } from '../runner/secrecy/picture-site.ts';
import { machine, percentiles, writeSections } from './figures.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const ROUNDS = Number(values.rounds);
const FILM_MS = 5_000;
const ROW = '<tr><td><a href="#">Order 4711</a><td>A lamp, two chairs<td>17 March<td>42.00<td><button>Open</button>';
const MOVING =
  '<button id=b style="position:absolute;top:100px" onclick="this.textContent = Date.now()">click</button><p id=n style="position:absolute;top:200px">x' +
  '<script>(function f(t) { n.style.left = (t / 5) % 800 + "px"; n.textContent = Math.round(t); requestAnimationFrame(f) })(0)</script>';
const STATES = ['nothing filled in', 'after the login', 'on the login page'] as const;
type State = (typeof STATES)[number];

const table = `<table>${ROW.repeat(400)}</table>`;
const site = await startPictureSite({
  login: FIELD,
  account: table,
  'login beside a table': FIELD + table,
  moving: MOVING,
  'login that moves': FIELD + MOVING,
});

/** A tab in one of the states. */
async function inState(state: State, { page, pictures }: Tab, plain: string, login: string): Promise<void> {
  await page.goto(site.url(state === 'on the login page' ? login : 'login'));
  if (state !== 'nothing filled in') await fill(page, pictures);
  if (state !== 'on the login page') await page.goto(site.url(plain));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function screenshots(state: State) {
  const tab = await site.tab();
  await inState(state, tab, 'account', 'login beside a table');
  const [plain, guarded]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    plain.push(await timed(shoot(tab.page)));
    guarded.push(await timed(() => tab.pictures.take(tab.page, shoot(tab.page))));
  }
  await tab.context.close();
  return { plain_ms: percentiles(plain), guarded_ms: percentiles(guarded) };
}

/** Frames a second, and how long a click takes meanwhile. */
async function film(state: State) {
  const tab = await site.tab();
  const { recording, outputDir } = await site.record(tab.context, tab.pictures);
  await inState(state, tab, 'moving', 'login that moves');
  const clicks: number[] = [];
  const startMs = performance.now();
  while (performance.now() - startMs < FILM_MS) clicks.push(await timed(() => tab.page.click('#b')));
  const seconds = (performance.now() - startMs) / 1_000;
  await recording.stop();
  await tab.context.close();
  const frames = greenIn(join(outputDir, 'tab-001.webm')).length;
  return { frames_per_second: Math.round((frames / seconds) * 10) / 10, click_ms: percentiles(clicks) };
}

const found: Record<string, unknown> = {};
for (const state of STATES) {
  found[state] = { screenshot: await screenshots(state), video: await film(state) };
  console.info(state, JSON.stringify(found[state]));
}
await site.close();
console.info(`written to ${writeSections({ pictures: { machine: machine(), ...found } })}`);
