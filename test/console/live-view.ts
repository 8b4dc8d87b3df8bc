import type { Locator, Page } from 'playwright-core';
import type { Lease } from '../../client/lease.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { type OpenConsole, openConsole } from './open-console.ts';

/** A console in which a person looks on at the browser of an agent. A page that is given is another person's. */
export interface LiveView extends AsyncDisposable {
  readonly console: OpenConsole;
  readonly page: Page;
  readonly lease: Lease;
  readonly agent: McpBrowser;
  /** Address of the session in the console. */
  readonly sessionUrl: string;
  /** The person's cookies, as a header has them. */
  cookie(): Promise<string>;
  signIn(viewer?: Page): Promise<void>;
  open(viewer?: Page): Promise<unknown>;
  take(viewer?: Page): Promise<void>;
  hasControl(viewer?: Page): Promise<void>;
  handBack(viewer?: Page): Promise<void>;
  shownTab(title: string): Locator;
  /** Clicks on the picture, at 400 pixels of the tab from its left edge. */
  clickAt(y: number, viewer?: Page): Promise<void>;
  /** Resolves when the lower edge of the picture has this colour. */
  sees(wanted: readonly number[], viewer?: Page): Promise<unknown>;
}

/** The page is 1920x1080; its fields stand where no test has to look for them. */
export const formPage = (body: string) =>
  `data:text/html,<title>Form</title><style>body{margin:0;background:rgb(0,90,0)}body>*{position:absolute;left:200px;width:800px;height:60px}</style>${encodeURIComponent(body)}`;
export const GREEN = [0, 90, 0];
export const PLACES = { field: 130, press: 330, ask: 530, file: 730 };

export async function openLiveView(): Promise<LiveView> {
  await using started = new AsyncDisposableStack();
  const console = started.use(await openConsole());
  const { page, context } = console;
  page.setDefaultTimeout(15_000);
  const signIn = async (viewer = page) => {
    await viewer.goto(console.stack.console.link());
    await viewer.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
  };
  await signIn();
  const lease = await console.sessions.acquire({ userId: 'ada', conversationId: 'bread' });
  const agent = started.use(await connectMcpBrowser(lease));
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const sessionUrl = `${console.stack.console.url}/sessions/${lease.sessionId}`;
  const parts = started.move();
  return {
    ...{ console, page, lease, agent, sessionUrl, signIn },
    cookie: async () => (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; '),
    open: (viewer = page) => viewer.goto(sessionUrl),
    take: (viewer = page) => viewer.getByRole('button', { name: 'Take control' }).click(),
    hasControl: (viewer = page) => viewer.getByText('You have control').waitFor(),
    handBack: (viewer = page) => viewer.getByRole('button', { name: 'Hand back' }).click(),
    shownTab: title => page.locator('.tab-bar .shown', { hasText: title }),
    clickAt: (y, viewer = page) => clickOnPicture(viewer, y),
    sees: (wanted, viewer = page) =>
      eventually(`the picture has ${wanted}`, async () =>
        (await colour(viewer)).every((value, at) => Math.abs(value - (wanted[at] ?? 0)) < 25),
      ),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

async function clickOnPicture(viewer: Page, y: number): Promise<void> {
  const canvas = viewer.locator('.screen canvas');
  // A notice that comes or goes moves the picture.
  let before = '';
  const box = await eventually('a picture that stands still', async () => {
    const now = await canvas.boundingBox();
    const stands = JSON.stringify(now) === before && now;
    before = JSON.stringify(now);
    return stands;
  });
  await viewer.mouse.click(box.x + (400 / 1920) * box.width, box.y + (y / 1080) * box.height);
}

/** Colour of a pixel of the picture, in the middle of its lower edge. */
const colour = (viewer: Page): Promise<number[]> =>
  viewer.evaluate(`(() => { const c = document.querySelector('.screen canvas');
    return [...c.getContext('2d').getImageData(c.width / 2, c.height - 20, 1, 1).data.slice(0, 3)]; })()`);
