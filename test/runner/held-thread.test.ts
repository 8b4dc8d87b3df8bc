import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSearch } from '../search.ts';
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
  colons: `<h1>Colons</h1><a href="x://${':'.repeat(31_000)}">a</a>`,
  covered: `<h1>Covered</h1><script>window.fail = () => { throw new Error('The selector "'.repeat(60_000)) }</script>`,
  download: `<a href="/evil" download="${'a.'.repeat(50_000)}x${'.'.repeat(50_000)}y.txt">Get</a>`,
  flood: `<h1>Flood</h1><script>for (let n = 0; n < 20; n++) console.log('a '.repeat(100_000))</script>`,
  names: `<h1>Names</h1><p> [ref=${'a'.repeat(30_000)}]</p>`,
  number: '<label>Number <input type="number"></label>',
  shots: `<script>fetch('/shot')</script><h1>Shots</h1>`,
  shot: `- [Screenshot of ${']('.repeat(100_000)}`,
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
  'a selector of quotes': attack('evil', 'browser_click', { target: `text="${'\\\\"'.repeat(1_900)}` }, /./),
  'a selector of brackets': attack('evil', 'browser_click', { target: `getByText('${'[('.repeat(1_900)}` }, /./),
  'a selector of functions': attack('evil', 'browser_click', { target: 'a.getByText("b")'.repeat(240) }, /./),
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
  'an answer of megabytes that imitates refs': attack(
    'evil',
    'browser_evaluate',
    { function: "() => ['[r'.repeat(5_000_000)]" },
    /\[r\[r/,
  ),
  'many rows': attack('rows', 'browser_snapshot', { tokensMax: 100_000 }, /one/),
  'many buttons': attack('buttons', 'browser_find', { text: 'Pay', tokensMax: 100_000 }, /Found 3000/),
  'many long labels': attack('fields', 'browser_snapshot', { tokensMax: 100_000 }, /Name/),
  'a long title': attack('title', 'browser_snapshot', {}, /Title/),
  'an address of colons': attack('colons', 'browser_snapshot', {}, /Colons/),
  'an address of colons to go to': attack('evil', 'browser_navigate', { url: `x://${':'.repeat(300_000)}` }, /./),
  'a redirect to an address of colons': attack('evil', 'browser_navigate', { url: 'SITE/redirect' }, /./),
  'a script of blanks': attack('evil', 'browser_evaluate', { function: `1${' '.repeat(900_000)}1` }, /does not parse/),
  'a script of many ends': attack(
    'evil',
    'browser_evaluate',
    { function: `[${'1,'.repeat(400_000)}]] await${'\n+1'.repeat(1_000)}` },
    /does not parse/,
  ),
  'a number of many digits': attack(
    'number',
    'browser_type',
    { target: 'input', text: `${'0'.repeat(1e5)}x` },
    /number/,
  ),
  'an error that imitates failures': attack('covered', 'browser_evaluate', { function: '() => fail()' }, /selector/),
  'a long name of a download': attack('download', 'browser_click', { target: 'a' }, /Download/),
  'long messages of the console': attack('flood', 'browser_console_messages', {}, /cut: /),
  'a text that imitates a long ref': attack('names', 'browser_get_content', { format: 'text' }, /Names/),
  'a body that imitates a picture': attack(
    'shots',
    'browser_network_request',
    { index: 2, part: 'response-body' },
    /Screenshot of/,
  ),
  'a full sessionStorage': attack(
    'stored',
    'browser_evaluate',
    { function: '() => ({ ...sessionStorage })' },
    /### Result/,
  ),
};

const search = openSearch();

let server: Server;
let site: string;
let lease: LeasedRunner;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/redirect')
      return void response.writeHead(302, { location: `x://${':'.repeat(60_000)}` }).end();
    const body = PAGES[(request.url ?? '').slice(1)] ?? '';
    response.setHeader('content-type', 'text/html').end(`<!doctype html><meta charset="utf-8">${body}`);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  lease = await startLease({ toolset: 'both' });
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

test.each(search.sliceOf(Object.entries(ATTACKS)))(
  'the runner answers others during %s',
  async (_name, { page, tool, args, says }) => {
    await callText(lease.client, 'browser_navigate', { url: `${site}/${page}`, snapshot: 'none' });
    let said = '';
    const held = await longestHold(async () => {
      said = await callText(lease.client, tool, JSON.parse(JSON.stringify(args).replace('SITE', site)));
    });
    expect(held).toBeLessThan(HELD_MS_MAX);
    expect(said).toMatch(says);
  },
  60_000,
);
