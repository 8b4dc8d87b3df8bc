import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

const HELD_MS_MAX = 250;
const PROBE_MS = 20;
const EVIL = '(a+)+$';
const LONG = 'correct horse %41 &amp; "x" 99, 111, 114 '.repeat(30_000);

const PAGES: Readonly<Record<string, string>> = {
  evil: `<h1>${'a'.repeat(40)}!</h1><a href="/${'a'.repeat(40)}!">a</a><script>fetch('/${'a'.repeat(40)}!')</script>`,
  long: `<h1>Long</h1><p>${LONG}</p>`,
  rows: `<table>${'<tr><td>one</td><td>two</td></tr>'.repeat(3_000)}</table>`,
  buttons: '<button>Pay</button>'.repeat(3_000),
  fields: `<label>${'Name '.repeat(200)}<input></label>`.repeat(800),
  title: `<title>${LONG.slice(0, 500_000)}</title><h1>Title</h1>`,
  stored: `<script>for (let i = 0; i < 400; i++) sessionStorage.setItem('k' + i, 'correct horse '.repeat(400))</script>`,
};

interface Attack {
  readonly page: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly says: RegExp;
}
const attack = (page: string, tool: string, args: Record<string, unknown>, says: RegExp): Attack => ({
  ...{ page, tool, args, says },
});
const ATTACKS: Readonly<Record<string, Attack>> = {
  'a pattern of browser_find': attack('evil', 'browser_find', { regex: EVIL }, /pattern_too_slow/),
  'a pattern beside an empty text': attack('evil', 'browser_find', { regex: EVIL, text: '' }, /Give either/),
  'a pattern in a page of Playwright': attack('evil', 'browser_find', { regex: EVIL, snapshot: 'playwright' }, /slow/),
  'a pattern of the network list': attack('evil', 'browser_network_requests', { filter: EVIL }, /pattern_too_slow/),
  'a long pattern': attack('evil', 'browser_find', { regex: `(${'a|'.repeat(100_000)}a)` }, /characters/),
  'a long pattern of the network list': attack('evil', 'browser_network_requests', { filter: '('.repeat(1e6) }, /most/),
  'a long selector': attack('evil', 'browser_click', { target: `getByText(${'"('.repeat(500_000)}` }, /at most/),
  'a long selector in a form': attack(
    'evil',
    'browser_fill_form',
    { fields: [{ target: '('.repeat(1e6), name: 'a', type: 'textbox', value: 'a' }] },
    /at most/,
  ),
  'a long text to type': attack('fields', 'browser_type', { target: 'input', text: LONG.slice(0, 900_000) }, /./),
  'a long name of a tool': attack('evil', `browser_${'find_'.repeat(300_000)}`, {}, /unknown_tool/),
  'a long text to find': attack('long', 'browser_find', { text: '111', tokensMax: 100_000 }, /Found/),
  'a long text in a snapshot': attack('long', 'browser_snapshot', { tokensMax: 100_000 }, /Long/),
  'a long text in a snapshot of Playwright': attack('long', 'browser_snapshot', { snapshot: 'playwright' }, /Long/),
  'a long answer of a script': attack(
    'long',
    'browser_evaluate',
    { function: '() => document.body.innerText', tokensMax: 100_000 },
    /### Result/,
  ),
  'many rows': attack('rows', 'browser_snapshot', { tokensMax: 100_000 }, /one/),
  'many buttons': attack('buttons', 'browser_find', { text: 'Pay', tokensMax: 100_000 }, /Found 3000/),
  'many long labels': attack('fields', 'browser_snapshot', { tokensMax: 100_000 }, /Name/),
  'a long title': attack('title', 'browser_snapshot', {}, /Title/),
  'a full sessionStorage': attack(
    'stored',
    'browser_evaluate',
    { function: '() => ({ ...sessionStorage })' },
    /### Result/,
  ),
};

let server: Server;
let site: string;
let lease: LeasedRunner;
beforeAll(async () => {
  server = createServer((request, response) => {
    const body = PAGES[(request.url ?? '').slice(1)] ?? '';
    response.setHeader('content-type', 'text/html').end(`<!doctype html><meta charset="utf-8">${body}`);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  lease = await startLease();
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

/** Processor time of the runner's own thread, in milliseconds: that of a busy machine is the same. */
function threadMs(): number {
  const pid = lease.runner.child.pid ?? 0;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** The most that the thread worked while a request waited for it. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  const worked = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const before = threadMs();
    await fetch(`${lease.runner.url}/no-route`).then(response => response.text());
    longest = Math.max(longest, threadMs() - before);
    await delay(PROBE_MS);
  }
  await worked;
  return longest;
}

test.each(Object.entries(ATTACKS))(
  'the runner answers others during %s',
  async (_name, { page, tool, args, says }) => {
    await callText(lease.client, 'browser_navigate', { url: `${site}/${page}`, snapshot: 'none' });
    let said = '';
    const held = await longestHold(async () => {
      said = await callText(lease.client, tool, args);
    });
    expect(held).toBeLessThan(HELD_MS_MAX);
    expect(said).toMatch(says);
  },
  60_000,
);
