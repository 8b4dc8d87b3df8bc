import { setTimeout as delay } from 'node:timers/promises';
import type { Download, Page, Response } from 'playwright-core';
import { addressOf, isOutside } from '../browser/addresses.ts';
import { NAVIGATION_MS } from '../browser/navigation-time.ts';
import { loadedOrBroken } from '../settle/loaded.ts';

/** With what an action waits for its page afterwards, at most 5 s. */
const LOAD_MS = 4_000;
/** A download that is started by an address is reported, and where it is short, its end too. */
const DOWNLOAD_MS = 3_000;
const DOWNLOADED_MS = 500;

/** Goes there, and resolves with the document's answer; undefined: what is there was downloaded. Rejects as Playwright does. */
export async function goTo(page: Page, address: string, signal: AbortSignal): Promise<Response | undefined> {
  const url = addressOf(address, page.url()) ?? address;
  for (let tries = 1; ; tries += 1)
    try {
      return await load(page, url);
    } catch (error) {
      // Once this call is cancelled, it is the next one that overtakes.
      if (signal.aborted || tries === TRIES_MAX || !(error instanceof Error && OVERTAKEN.test(error.message)))
        throw error;
      // The address may still be loading, and would overtake the next try; until it comes, the document before is a loaded one.
      await delay(COMES_MS * tries);
      await page.waitForLoadState('load', { timeout: OVERTAKEN_MS }).catch(() => undefined);
    }
}

/** A page that moves by itself just then overtakes what was asked for; few do so again and again. */
const OVERTAKEN = /net::ERR_ABORTED|is interrupted by another navigation/;
const TRIES_MAX = 4;
const OVERTAKEN_MS = 1_000;
const COMES_MS = 50;

async function load(page: Page, url: string): Promise<Response | undefined> {
  let download: Download | undefined;
  const onDownload = (started: Download) => {
    download = started;
  };
  let leadsOutside = false;
  const onResponse = (response: Response) => {
    const { location } = response.headers();
    if (location !== undefined && isOutside(location)) leadsOutside = true;
  };
  page.once('download', onDownload).on('response', onResponse);
  try {
    const response = await page.goto(url, { waitUntil: 'commit', timeout: NAVIGATION_MS });
    // A document may be sent without end, or break off and never be loaded: it is shown as far as it is there.
    await loadedOrBroken(page.mainFrame(), response, LOAD_MS);
    return response ?? undefined;
  } catch (error) {
    // A redirect to a program is no page that overtakes.
    if (leadsOutside) throw new Error('net::ERR_UNKNOWN_URL_SCHEME');
    if (!(error instanceof Error && error.message.includes('Download is starting'))) throw error;
    download ??= await page.waitForEvent('download', { timeout: DOWNLOAD_MS });
    await Promise.race([download.failure().catch(() => null), delay(DOWNLOADED_MS)]);
    return undefined;
  } finally {
    page.off('download', onDownload).off('response', onResponse);
  }
}
