import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureTabs } from '../../../runner/capture/captures.ts';
import type { Picture } from '../../../runner/capture/picture.ts';
import { guardPictures } from '../../../runner/secrecy/pictures.ts';
import { realClock } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { startBrowser } from '../browser/start-browser.ts';

/** Enough that some are caught between two renderers: with a single try this failed each time. */
const TABS = 15;

let browser: Awaited<ReturnType<typeof startBrowser>>;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser[Symbol.asyncDispose]());

test('a tab that goes from one renderer to another just then is captured all the same', async () => {
  const { context } = browser;
  const captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
  const opened = new Promise<void>((resolve, reject) => {
    let captured = 0;
    context.on('page', (page: Page) => {
      const first = Promise.withResolvers<void>();
      captures
        .watch(page, () => first.resolve(), 'live')
        .then(() => first.promise)
        .then(() => {
          captured += 1;
          if (captured === TABS) resolve();
        }, reject);
    });
  });
  for (let n = 0; n < TABS; n++) {
    const page = await context.newPage();
    await page.goto(`data:text/html,<title>${n}</title>`);
  }
  await expect(opened).resolves.toBeUndefined();
});

test('there is one capture a tab, and only while something watches it', async () => {
  const { context } = browser;
  let capturing = 0;
  const counted = new Proxy(context, {
    get: (target, name) =>
      name === 'newCDPSession'
        ? async (page: Page) => {
            const session = await target.newCDPSession(page);
            capturing += 1;
            const detach = session.detach.bind(session);
            session.detach = () => detach().finally(() => (capturing -= 1));
            return session;
          }
        : Reflect.get(target, name),
  });
  const captures = captureTabs({ context: counted, pictures: guardPictures(context), clock: realClock });
  const page = await context.newPage();
  const seen = [0, 0];
  const watch = (n: number) => captures.watch(page, () => (seen[n] = (seen[n] ?? 0) + 1), n === 0 ? 'live' : 'sparing');
  expect(capturing).toBe(0);
  const [stopFirst, stopSecond] = [await watch(0), await watch(1)];
  await eventually('both see it', () => seen.every(count => count > 0));
  stopFirst();
  const before = seen[1] ?? 0;
  await page.setContent('<body style="background: red">');
  await eventually('the other one sees more', () => (seen[1] ?? 0) > before);
  expect(capturing).toBe(1);
  stopSecond();
  await eventually('nothing is captured', () => capturing === 0);
});

/** Each is missed about every second time by a screencast that is only started. */
const RESTS = 6;

test.each(['live', 'sparing'] as const)(
  'what a tab shows when it rests is shown, however fast it changed before: %s',
  async pace => {
    const { context } = browser;
    const captures = captureTabs({ context, pictures: guardPictures(context), clock: realClock });
    const [page, viewer] = [await context.newPage(), await context.newPage()];
    await page.bringToFront();
    await page.setContent('<body style="margin: 0; height: 100vh">');
    let last = '';
    const keep = ({ jpeg }: Picture) => {
      last = jpeg.toString('base64');
    };
    await captures.watch(page, keep, pace);
    for (let n = 0; n < RESTS; n++) {
      const color = n % 2 === 0 ? 'rgb(0, 255, 0)' : 'rgb(0, 0, 255)';
      await page.evaluate(changeTenTimes(color));
      await eventually(`its last colour, ${color}`, async () => (await viewer.evaluate(colorOf(last))) === color);
    }
  },
);

/** Paints ten frames in a row, and a last one. */
const changeTenTimes = (color: string) => `new Promise(done => {
  let frames = 0;
  const next = () => {
    document.body.style.background = frames < 10 ? \`rgb(\${100 + frames * 10}, 0, 0)\` : '${color}';
    frames += 1;
    if (frames <= 10) requestAnimationFrame(next);
    else done();
  };
  next();
})`;

/** The color of a picture, of which JPEG has changed each part by some. */
const colorOf = (jpeg: string) => `(async () => {
  const image = new Image();
  image.src = 'data:image/jpeg;base64,${jpeg}';
  await image.decode();
  const canvas = new OffscreenCanvas(1, 1).getContext('2d');
  canvas.drawImage(image, 0, 0, 1, 1, 0, 0, 1, 1);
  const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  return \`rgb(\${parts.map(part => (part > 230 ? 255 : part < 25 ? 0 : part)).join(', ')})\`;
})()`;
