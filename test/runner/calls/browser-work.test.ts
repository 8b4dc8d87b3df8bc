import { randomUUID } from 'node:crypto';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, type RunnerBrowser } from '../../../runner/browser/browser.ts';
import { browserPath } from '../../../runner/browser/browser-path.ts';
import { guardPages } from '../../../runner/browser/page-guard.ts';
import { createTempDir, type TempDir } from '../../../runner/browser/temp-dir.ts';
import { act } from '../../../runner/calls/act.ts';
import { bounds } from '../../../runner/calls/bounds-stage.ts';
import { type BrowserWork, browserWork } from '../../../runner/calls/browser-work.ts';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { leaseTools } from '../../../runner/calls/lease-tools.ts';
import { runStages } from '../../../runner/calls/stage.ts';
import { type Site, startSite } from '../../site/site.ts';

let site: Site;
let temp: TempDir;
let browser: RunnerBrowser;
let work: BrowserWork;
const never = new AbortController().signal;
beforeAll(async () => {
  site = await startSite();
  temp = createTempDir(randomUUID());
  const searchPath = process.env.PATH ?? '';
  browser = await launchBrowser({
    executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
    sandbox: true,
    tempDir: temp.path,
    egressUrl: undefined,
    searchPath,
  });
  const guard = guardPages(browser, () => undefined);
  work = await browserWork({ browser, guard, filesDir: temp.files });
});
afterAll(async () => {
  await browser.close();
  temp.remove();
  await site.close();
});

const call = async (name: string, args: Record<string, unknown> = {}, signal = never) => {
  const tool = leaseTools('playwright', work.tools).get(name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  // Some tools have a short bound, so that the test need not wait for a long one.
  const seconds = name === 'browser_evaluate' ? 2 : name === 'browser_tabs' ? 5 : 30;
  const admitted = {
    tool: { ...tool, definition: { ...tool.definition, seconds } },
    args,
    view: { snapshot: 'full', tokensMax: 4_000 } as const,
  };
  const caller = {
    signal,
    traceparent: undefined,
    protocolVersion: undefined,
    showsApps: false,
    elicitation: undefined,
  };
  // A lease without credentials; the stages read no other part of it.
  const tools = {
    documents: { isGuarding: () => false },
    credentials: { names: [], isName: () => false, noneFilled: () => true, httpLogin: () => undefined },
  };
  const lease = { browser: work, tools } as unknown as CallLease;
  const { content, isError } = await work.turn(signal, () =>
    runStages([bounds(lease), act(lease)], { name, given: args, caller, admitted }),
  );
  return { isError: isError === true, texts: content.map(part => (part.type === 'text' ? part.text : '')) };
};

test('[S10] a script that never ends gets its time, then its tab is freed and the next call served', async () => {
  await call('browser_navigate', { url: `${site.url}/` });
  const hung = await call('browser_evaluate', { function: '() => { while (true); }' });
  expect(hung.isError).toBe(true);
  expect(hung.texts[0]).toContain('"browser_action_timeout:browser_evaluate:2s"');
  expect(hung.texts.join()).toContain('A script that did not end was stopped');
  const next = await call('browser_navigate', { url: `${site.url}/login` });
  expect(next.texts.join()).toContain('Password');
});

test('a script answers with its JSON, or with what it threw', async () => {
  await call('browser_navigate', { url: `${site.url}/` });
  const answers: [script: string, answer: string][] = [
    ['document.title.length > 0 // a comment', 'true'],
    [
      'async () => ({ at: new Date(0), none: undefined, no: NaN })',
      '"at": "1970-01-01T00:00:00.000Z",\n  "no": "<NaN>"',
    ],
    ['() => { const all = {}; all.all = all; return all }', '"all": "<circular>"'],
    ['() => undefined', 'undefined'],
    ['() => [document.body, document, window]', '"ref: <Node>",\n  "ref: <Document>",\n  "ref: <Window>"'],
  ];
  for (const [script, answer] of answers) {
    const { isError, texts } = await call('browser_evaluate', { function: script });
    expect(isError, script).toBe(false);
    expect(texts[0], script).toContain(answer);
  }
  const failures: [script: string, why: string][] = [
    ['() => { throw new TypeError("no such thing") }', 'TypeError: no such thing'],
    ['() => Promise.reject("refused")', 'refused'],
    ['() => {', 'does not parse'],
  ];
  for (const [script, why] of failures) {
    const { isError, texts } = await call('browser_evaluate', { function: script });
    expect(isError, script).toBe(true);
    expect(texts.join(), script).toContain(why);
  }
});

test("a click brings no script of Playwright's into the page's own world", async () => {
  await call('browser_navigate', { url: `${site.url}/login` });
  const [page] = browser.context.pages();
  if (page === undefined) throw new Error('There is no tab.');
  const session = await browser.context.newCDPSession(page);
  const large: number[] = [];
  session.on('Debugger.scriptParsed', ({ length = 0, executionContextAuxData }) => {
    const isOfPage = (executionContextAuxData as { isDefault?: boolean } | undefined)?.isDefault === true;
    if (isOfPage && length > 100_000) large.push(length);
  });
  await session.send('Debugger.enable');
  const clicked = await call('browser_click', { target: 'input[type=password]' });
  await session.detach();
  expect(clicked.isError, clicked.texts.join()).toBe(false);
  expect(large).toEqual([]);
});

test('a tab in the background that hangs does not block the others', async () => {
  await call('browser_navigate', { url: `${site.url}/` });
  await call('browser_tabs', { action: 'new', url: `${site.url}/login` });
  const [background] = browser.context.pages();
  void background?.evaluate('setTimeout(() => { while (true); }, 0)');
  await call('browser_evaluate', { function: '() => 1' });
  const next = await call('browser_snapshot');
  expect(next.texts.join()).toContain('Password');
  const tabs = await call('browser_tabs', { action: 'list' });
  expect(tabs.isError, tabs.texts.join()).toBe(false);
  expect(tabs.texts.join()).toContain('(does not answer)');
  const freed = await call('browser_tabs', { action: 'select', index: 0 });
  expect(freed.texts.join()).toContain('A script that did not end was stopped');
  expect((await call('browser_snapshot')).texts.join()).toContain('Welcome.');
});

test('a queued call can be cancelled, and leaves the queue', async () => {
  const abort = new AbortController();
  const first = call('browser_wait_for', { time: 1 });
  const second = call('browser_navigate', { url: `${site.url}/animated` }, abort.signal);
  abort.abort();
  expect((await first).isError).toBe(false);
  expect((await second).texts).toEqual([expect.stringContaining('"call_cancelled"')]);
  const tabs = await call('browser_tabs', { action: 'list' });
  expect(tabs.isError, tabs.texts.join()).toBe(false);
  expect(tabs.texts.join()).not.toContain('Animated');
});

test('with as many tabs as there may be, one more is refused, and browser_close leaves one that stays', async () => {
  await call('browser_close');
  for (let n = 1; n < 20; n++) expect((await call('browser_tabs', { action: 'new' })).isError).toBe(false);
  const refused = await call('browser_tabs', { action: 'new' });
  expect(refused.isError).toBe(true);
  expect(refused.texts[0]).toContain('20 tabs are open');
  await call('browser_close');
  const left = browser.context.pages();
  expect(left).toHaveLength(1);
  expect((await call('browser_navigate', { url: `${site.url}/` })).texts.join()).toContain('Welcome.');
  expect(browser.context.pages()).toEqual(left);
});
