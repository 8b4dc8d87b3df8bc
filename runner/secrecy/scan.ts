import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { pageScript } from '../browser/page-script.ts';
import { evaluateAside } from './isolated-world.ts';
import { domainOf } from './site.ts';

const SCAN_MS = 3_000;
const CHARACTERS_MAX = 16_000_000;
/** Whether a text holds a secret; rejects when `signal` aborts. */
export type Holds = (text: string, signal: AbortSignal) => Promise<boolean>;

/** Runs in each document; see there. */
const STORED = pageScript(new URL('./stored.page.js', import.meta.url));

/**
 * Whether a document of the tab holds a text for which `holds` is true: in its tree, through closed shadow roots, in a
 * field, in an address, or in what its scripts can read of the browser. A tab that is too big to be read, or does not
 * answer in three seconds, counts as holding one. Never rejects.
 */
export async function holdsSecret(context: BrowserContext, page: Page, holds: Holds): Promise<boolean> {
  const late = new AbortController();
  try {
    return await Promise.race([
      tabHolds(context, page, text => holds(text, late.signal)),
      delay(SCAN_MS, true, { signal: late.signal, ref: false }),
    ]);
  } catch {
    return true;
  } finally {
    late.abort();
  }
}

async function tabHolds(
  context: BrowserContext,
  page: Page,
  holds: (text: string) => Promise<boolean>,
): Promise<boolean> {
  if (await holds(await cookiesOf(context, page))) return true;
  const sessions = await processesOf(context, page);
  try {
    for (const session of sessions)
      if ((await holds(await treeOf(session))) || (await holds(await storedIn(session)))) return true;
    return false;
  } finally {
    await Promise.all(sessions.map(session => session.detach().catch(() => undefined)));
  }
}

/** Cookies of the tab's sites that scripts read, those for other paths too: a document opens such a path in a frame, or takes its address. */
async function cookiesOf(context: BrowserContext, page: Page): Promise<string> {
  const domains = page.frames().map(frame => domainOf(URL.parse(frame.url())?.hostname ?? ''));
  const cookies = await context.cookies();
  return cookies
    .filter(({ domain, httpOnly }) => !httpOnly && domains.includes(domainOf(domain.replace(/^\./, ''))))
    .map(({ name, value }) => `${name}\n${value}`)
    .join('\n');
}

/** One session for the tab, and one for each frame with a process of its own. */
async function processesOf(context: BrowserContext, page: Page): Promise<CDPSession[]> {
  const children = page.frames().filter(frame => frame !== page.mainFrame());
  // Other frames are part of the one around them.
  const own = await Promise.all(children.map(frame => context.newCDPSession(frame).catch(() => undefined)));
  return [await context.newCDPSession(page), ...own.filter(session => session !== undefined)];
}

/** Every text of the documents of one process, in the order of their trees, then what attributes and fields hold. */
async function treeOf(session: CDPSession): Promise<string> {
  const { documents, strings } = await session.send('DOMSnapshot.captureSnapshot', { computedStyles: [] });
  const at = (index: number | undefined): string => (index === undefined ? '' : (strings[index] ?? ''));
  const found = documents.flatMap(({ nodes, documentURL, title }) => [
    at(documentURL),
    at(title),
    (nodes.nodeValue ?? []).map(at).join(''),
    ...(nodes.attributes ?? []).flat().map(at),
    ...[nodes.inputValue, nodes.textValue].flatMap(values => (values?.value ?? []).map(at)),
  ]);
  return requireBounded(found.join('\n'));
}

async function storedIn(session: CDPSession): Promise<string> {
  const { frameTree } = await session.send('Page.getFrameTree');
  const frames: string[] = [];
  const walk = ({ frame, childFrames = [] }: typeof frameTree): void => {
    frames.push(frame.id);
    childFrames.forEach(walk);
  };
  walk(frameTree);
  const texts = await Promise.all(frames.map(frameId => evaluateAside(session, frameId, `(${STORED})()`)));
  return requireBounded(texts.join('\n'));
}

function requireBounded(text: string): string {
  if (text.length > CHARACTERS_MAX) throw new Error('the tab is too big to be read');
  return text;
}
