import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { openConsole } from '../console/open-console.ts';
import { eventually } from '../eventually.ts';
import { type Percentiles, percentiles } from './figures.ts';

const WATCH_MS = 6_000;
const CLICKS = 20;
const RELOADS = 10;
/** Squares of the tab, in CSS pixels, each one bit of the time at which it was painted. */
const SQUARE = 40;
const BITS = 24;

/** In every frame it paints the time in squares, over a background that moves. A press turns its lower half another colour. */
const PAGE = `data:text/html,<title>Stamps</title><body style="margin:0"><canvas id=c width=1920 height=1080></canvas><script>
const g = c.getContext('2d'); let pressed = 0;
addEventListener('mousedown', () => { pressed += 1; });
(function draw() {
  const now = Date.now() %25 2 ** ${BITS};
  g.fillStyle = 'hsl(' + (now / 20) %25 360 + ',60%25,85%25)'; g.fillRect(0, 0, 1920, 1080);
  for (let bit = 0; bit < ${BITS}; bit += 1) {
    g.fillStyle = Math.floor(now / 2 ** bit) %25 2 ? '%23fff' : '%23000';
    g.fillRect(bit * ${SQUARE}, 0, ${SQUARE}, ${SQUARE});
  }
  g.fillStyle = pressed %25 2 ? '%23f00' : '%2300f'; g.fillRect(0, 540, 1920, 540);
  requestAnimationFrame(draw);
})();
</script>`;

/** Reads the console's canvas in every frame, and when it was pressed. Runs in the console's page. */
const WATCH = `(() => {
  const canvas = document.querySelector('.screen canvas');
  const g = canvas.getContext('2d', { willReadFrequently: true });
  const seen = window.seen = { stamps: [], presses: [], changes: [] };
  addEventListener('mousedown', () => seen.presses.push(Date.now()), { capture: true });
  let last, colour;
  (function look() {
    const scale = canvas.width / 1920;
    const row = g.getImageData(0, Math.round(${SQUARE} / 2 * scale), canvas.width, 1).data;
    let stamp = 0;
    for (let bit = ${BITS} - 1; bit >= 0; bit -= 1) stamp = stamp * 2 + (row[Math.round((bit + 0.5) * ${SQUARE} * scale) * 4] > 128 ? 1 : 0);
    const at = Date.now();
    if (stamp !== last) { last = stamp; seen.stamps.push((at % 2 ** ${BITS}) - stamp); }
    const red = g.getImageData(canvas.width / 2, canvas.height * 0.75, 1, 1).data[0] > 128;
    if (red !== colour) { colour = red; seen.changes.push(at); }
    requestAnimationFrame(look);
  })();
})()`;

interface Seen {
  stamps: number[];
  presses: number[];
  changes: number[];
}

/** Resolves with the first picture. Runs in the console's page. */
const PICTURE = `new Promise(resolve => {
  (function look() {
    const seen = document.querySelector('.screen canvas') !== null && document.querySelector('.unseen-yet') === null;
    if (seen) resolve(); else requestAnimationFrame(look);
  })();
})`;

/**
 * Pictures a second; milliseconds from the tab's paint to the console's pixels, from a click there to changed pixels, and from a
 * reload of the console's page to its first picture.
 */
export async function seenInConsole(): Promise<
  { fps: number } & Record<'latency_ms' | 'click_ms' | 'reload_ms', Percentiles>
> {
  await using shown = await openConsole();
  const { page, stack, sessions } = shown;
  const lease = await sessions.acquire({ userId: 'ada', conversationId: 'bench', recordVideo: false });
  await using agent = await connectMcpBrowser(lease);
  await agent.call('browser_navigate', { url: PAGE, snapshot: 'none' });
  await page.setViewportSize({ width: 1400, height: 1000 });
  await page.goto(stack.console.link());
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
  await page.goto(`${stack.console.url}/sessions/${lease.sessionId}`);
  await page.getByRole('button', { name: 'Take control' }).click();
  await page.getByText('You have control').waitFor();
  await eventually('a picture', async () => (await page.locator('.unseen-yet').count()) === 0);
  await page.evaluate(WATCH);
  const seen = () => page.evaluate<Seen>('window.seen');

  const before = (await seen()).stamps.length;
  await page.waitForTimeout(WATCH_MS);
  const stamps = (await seen()).stamps.slice(before);

  const box = (await page.locator('.screen canvas').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const clickMs: number[] = [];
  for (let click = 0; click < CLICKS; click += 1) {
    const changes = (await seen()).changes.length;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 4);
    await eventually('the change', async () => (await seen()).changes.length > changes);
    const after = await seen();
    clickMs.push((after.changes[changes] ?? Number.NaN) - (after.presses[click] ?? Number.NaN));
  }

  const reloadMs: number[] = [];
  for (let reload = 0; reload < RELOADS; reload += 1) {
    const startMs = performance.now();
    await page.reload({ waitUntil: 'commit' });
    await page.evaluate(PICTURE);
    reloadMs.push(performance.now() - startMs);
  }
  await lease.end();
  return {
    fps: Math.round((stamps.length / WATCH_MS) * 10_000) / 10,
    latency_ms: percentiles(stamps),
    click_ms: percentiles(clickMs),
    reload_ms: percentiles(reloadMs),
  };
}
