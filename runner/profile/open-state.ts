import type { BrowserContext, Frame } from 'playwright-core';
import type { ProfileState } from '../../contract/profile.ts';

type Origin = ProfileState['origins'][number];

const READ = `({
  origin: location.origin,
  localStorage: Object.entries({ ...localStorage }).map(([name, value]) => ({ name, value: String(value) })),
})`;
const WRITE = `items => {
  localStorage.clear();
  for (const { name, value } of items) localStorage.setItem(name, value);
}`;

/**
 * State that Chromium has not written to its files yet: cookies, with session cookies, and localStorage of the pages that
 * are open. That of
 * other sites was written when their last page was closed.
 */
export async function readOpenState(context: BrowserContext): Promise<ProfileState> {
  const [cookies, items] = await Promise.all([
    context.cookies().then(all => all.map(cookie => ({ ...cookie }))),
    Promise.all(context.pages().flatMap(page => page.frames().map(localStorageOf))),
  ]);
  const origins = new Map(items.flatMap(item => (item === undefined ? [] : [[item.origin, item] as const])));
  return { cookies, origins: [...origins.values()] };
}

/** Undefined: the frame is no site's, or is not allowed to store. */
async function localStorageOf(frame: Frame): Promise<Origin | undefined> {
  if (!/^https?:/.test(frame.url())) return undefined;
  const found = await frame.evaluate<Origin>(READ).catch(() => undefined); // it is going, or may not
  return found === undefined || !/^https?:/.test(found.origin) ? undefined : found;
}

/**
 * Brings it into a browser that started from the files. Sites are not reached, nor are their service workers: every page that is asked
 * for is empty. Resolves with the number of cookies and origins that the browser did not take.
 */
export async function writeOpenState(context: BrowserContext, { cookies, origins }: ProfileState): Promise<number> {
  let leftOut = 0;
  const takes = (work: Promise<unknown>) => work.catch(() => (leftOut += 1));
  await context.addCookies(cookies).catch(async () => {
    for (const cookie of cookies) await takes(context.addCookies([cookie]));
  });
  if (origins.length === 0) return leftOut;
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setBypassServiceWorker', { bypass: true });
  await page.route('**/*', route => route.fulfill({ contentType: 'text/html', body: '' }));
  for (const { origin, localStorage: items } of origins)
    await takes(page.goto(origin).then(() => page.evaluate(`(${WRITE})(${JSON.stringify(items)})`)));
  await page.close();
  return leftOut;
}
