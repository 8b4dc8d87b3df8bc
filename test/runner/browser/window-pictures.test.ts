import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { captureVisible } from '../../../runner/browser/visible-picture.ts';
import { windowPictures } from '../../../runner/browser/window-pictures.ts';
import { eventually } from '../../eventually.ts';
import { startBrowser } from './start-browser.ts';

const ROWS = 120;
/** Each row has a colour of its own, so that a picture of another part, or one that lacks a part, is another one. */
const PAGE = `<!doctype html><title>Rows</title><body style="margin:0">
<div style="position:fixed;right:0;background:gold">fixed</div><div style="height:100vh;background:teal"></div>
${Array.from({ length: ROWS }, (_, n) => `<p style="margin:0;height:40px;background:hsl(${n * 3} 80% 60%)">${n}</p>`).join('')}`;
/** An area of the page. */
type Area = Record<'x' | 'y' | 'width' | 'height', number>;
const OPTIONS = { scale: 'css', caret: 'initial' } as const;

describe('a picture of the window', () => {
  let browser: Awaited<ReturnType<typeof startBrowser>>;
  let page: Page;
  let session: CDPSession;
  beforeAll(async () => {
    browser = await startBrowser();
    page = await browser.context.newPage();
    session = await browser.context.newCDPSession(page);
    await page.setContent(PAGE);
  });
  afterAll(() => browser[Symbol.asyncDispose]());

  /** Chromium's own picture of the surface. It lacks parts now and then, so that the picture need only be one of those that it takes. */
  const expectAsOfSurface = (picture: Buffer, params: { optimizeForSpeed?: boolean }, area?: Area) =>
    eventually('the same picture of the surface', async () => {
      const clip = area === undefined ? {} : { clip: { ...area, scale: 1 }, captureBeyondViewport: true };
      const { data } = await session.send('Page.captureScreenshot', { ...params, ...clip, fromSurface: true });
      return Buffer.from(data, 'base64').equals(picture);
    });

  it.each([
    ['the default viewport', { width: 1920, height: 1080 }],
    ['another one', { width: 700, height: 900 }],
  ])(
    'is that of the surface, of an element and of what is visible, before and after one of the page, in %s',
    async (_, size) => {
      await page.setViewportSize(size);
      await page.evaluate('scrollTo(0, 1500)');
      const element = { x: 0, y: size.height + 30 * 40, width: size.width, height: 40 };
      for (const fullPage of [false, true]) {
        if (fullPage) await page.screenshot({ ...OPTIONS, fullPage });
        for (let taken = 0; taken < 2; taken++)
          await expectAsOfSurface(await page.getByText('30', { exact: true }).screenshot(OPTIONS), {}, element);
        await expectAsOfSurface(await captureVisible(page, 'png', 10_000), { optimizeForSpeed: true });
      }
      expect(await page.evaluate('[innerWidth, innerHeight, scrollY].join()')).toBe(
        `${size.width},${size.height},1500`,
      );
    },
  );
});

describe('windowPictures', () => {
  const SHOWN = { width: 800, height: 600 };
  const CLIP = { x: 0, y: 0, width: 800, height: 2000, scale: 1 };
  const command = (id: number, method: string, params: object, sessionId = 'A') =>
    JSON.stringify({ id, method, params, sessionId });
  const answer = (id: number, outcome: object = { result: {} }) =>
    Buffer.from(`${JSON.stringify({ id, ...outcome })}\0`);
  const parsed = (message: string | undefined) => JSON.parse(message ?? 'null');
  const area = (id: number) => command(id, 'Page.captureScreenshot', { format: 'png', clip: CLIP });

  let pictures: ReturnType<typeof windowPictures>;
  beforeEach(() => {
    pictures = windowPictures();
    pictures.send(command(1, 'Emulation.setDeviceMetricsOverride', SHOWN));
  });

  it('leaves pictures beyond the viewport to Chromium', () => {
    pictures.start();
    const beyond = command(2, 'Page.captureScreenshot', { clip: CLIP, captureBeyondViewport: true });
    expect(pictures.send(beyond)).toBe(beyond);
    expect(pictures.receive(answer(2))).toEqual({ pass: true });
  });

  it('changes nothing until it is started, nor what it does not know', () => {
    expect(pictures.send(area(2))).toBe(area(2));
    pictures.start();
    for (const [method, params, session] of [
      ['Page.navigate', { url: 'Page.captureScreenshot' }, 'A'],
      ['Page.captureScreenshot', { fromSurface: true, clip: CLIP }, 'A'],
      ['Page.captureScreenshot', { clip: CLIP }, 'B'],
    ] as const)
      expect(pictures.send(command(3, method, params, session))).toBe(command(3, method, params, session));
    expect(pictures.receive(answer(3))).toEqual({ pass: true });
  });

  it('draws a resized tab, shows the area, takes the picture, and shows what was shown', () => {
    pictures.start();
    const drawn = parsed(pictures.send(area(2)));
    expect(drawn).toMatchObject({ method: 'Page.captureScreenshot', params: { fromSurface: false }, sessionId: 'A' });
    const shows = pictures.receive(answer(drawn.id));
    expect(shows.pass).toBe(false);
    const metrics = { method: 'Emulation.setDeviceMetricsOverride', sessionId: 'A' };
    expect(parsed(shows.send)).toMatchObject({ ...metrics, params: { ...SHOWN, viewport: CLIP } });
    const takes = pictures.receive(answer(parsed(shows.send).id));
    expect(takes.pass).toBe(false);
    expect(parsed(takes.send)).toEqual(
      parsed(command(2, 'Page.captureScreenshot', { format: 'png', fromSurface: false })),
    );
    const restores = pictures.receive(answer(2));
    expect(restores.pass).toBe(true);
    expect(parsed(restores.send)).toEqual({ ...metrics, params: SHOWN, id: expect.any(Number) });
    expect(pictures.receive(answer(parsed(restores.send).id))).toEqual({ pass: false });
  });

  it('takes the picture of the surface where the tab cannot show the area', () => {
    pictures.start();
    const shows = pictures.receive(answer(parsed(pictures.send(area(2))).id));
    expect(pictures.receive(answer(parsed(shows.send).id, { error: { code: -32_000, message: 'no' } }))).toEqual({
      pass: false,
      send: area(2),
    });
    expect(pictures.receive(answer(2))).toEqual({ pass: true });
  });

  it.each([
    ['its renderer died', { method: 'Inspector.targetCrashed', params: {}, sessionId: 'A' }],
    ['it was closed', { method: 'Target.detachedFromTarget', params: { sessionId: 'A' }, sessionId: 'B' }],
  ])('sends nothing more to a tab after %s', (_, ended) => {
    pictures.start();
    const drawn = parsed(pictures.send(area(2)));
    expect(pictures.receive(Buffer.from(`${JSON.stringify(ended)}\0`))).toEqual({ pass: true });
    expect(pictures.receive(answer(drawn.id))).toEqual({ pass: false });
  });
});
