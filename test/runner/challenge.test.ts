import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { CHALLENGES, ORDINARY } from '../site/challenge-pages.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

/** A button that shows what was hidden: the challenge comes by an action. */
const LATE = `<button onclick="document.querySelector('div').hidden = false">Go</button><div hidden>${CHALLENGES[0]?.html}</div>`;
const PAGES = new Map([
  ...CHALLENGES.map(({ html }, index) => [`/challenge/${index}`, html] as const),
  ...ORDINARY.map((html, index) => [`/ordinary/${index}`, html] as const),
  ['/late', LATE],
]);

let site: Server;
let url: string;
let lease: LeasedRunner;
beforeAll(async () => {
  site = createServer((request, response) => {
    const html = PAGES.get(new URL(request.url ?? '/', 'http://site').pathname) ?? '';
    response.setHeader('content-type', 'text/html').end(`<!doctype html><title>Page</title>${html}`);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`; // a TCP server has a port
  lease = await startLease({ recordVideo: false, toolset: 'both', snapshot: 'none' });
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  site?.closeAllConnections();
  site?.close();
});

const call = (name: string, args: Record<string, unknown> = {}) => callText(lease.client, name, args);
const goTo = (path: string) => call('browser_navigate', { url: `${url}${path}` });
const CAPTCHA = 'The page asks to solve a CAPTCHA';
const CODE = 'The page asks for a one-time code';
const seen = () => lease.controller.events.filter(({ kind }) => kind === 'challenge.seen').map(({ data }) => data);

test('[O20] a CAPTCHA or a second factor on any page is reported once, with what to do, and is in the timeline', async () => {
  for (const [index, { name, asks }] of CHALLENGES.entries()) {
    const text = await goTo(`/challenge/${index}`);
    expect(text, name).toContain(asks === 'captcha' ? CAPTCHA : CODE);
    expect(text, name).toContain('browser_request_user_action');
  }
  await eventually('all in the timeline', () => seen().length === CHALLENGES.length);
  expect(seen()).toEqual(CHALLENGES.map(({ asks }, index) => ({ challenge: asks, url: `${url}/challenge/${index}` })));

  // By an action, in either set's form; then never again on that page.
  expect(await goTo('/late')).not.toContain(CAPTCHA);
  expect(await call('browser_click', { target: 'button' })).toContain(CAPTCHA);
  for (const [name, args] of [
    ['browser_click', { selector: 'button' }],
    ['browser_press_key', { key: 'Tab' }],
    ['browser_scroll', { direction: 'down' }],
    ['browser_wait', { ms: 1 }],
  ] as const)
    expect(await call(name, args), name).not.toContain(CAPTCHA);

  // A tab that was opened in the background, once it is gone to.
  await goTo('/ordinary/0');
  await call('browser_evaluate', { function: `() => { open('${url}/challenge/6') }` });
  expect(await call('browser_tabs', { action: 'select', index: 1 })).toContain(CODE);
});

test('[O20] ordinary pages say nothing', async () => {
  for (const [index, html] of ORDINARY.entries())
    expect(await goTo(`/ordinary/${index}`), html).not.toMatch(/page asks/);
  // Later reports come after them.
  await goTo('/challenge/0');
  await eventually('the report', () => seen().at(-1)?.url === `${url}/challenge/0`);
  expect(seen().filter(({ url }) => String(url).includes('ordinary'))).toEqual([]);
});
