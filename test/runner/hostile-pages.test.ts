import { afterAll, afterEach, beforeAll, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { openSearch } from '../search.ts';
import { type AttackedLease, FLOOD, startAttackedLease } from './attacked-lease.ts';
import { callText } from './start.ts';

interface Attack {
  readonly script: string;
  /** The text about the page in a result, sooner or later; undefined: it takes nothing that has to be stopped. */
  readonly told?: RegExp;
}

const worker = (code: string) => `URL.createObjectURL(new Blob([${JSON.stringify(code)}]))`;
const download = (href: string) =>
  `const a = document.createElement('a'); a.href = ${href}; a.download = 'x'; setInterval(() => a.click(), 10)`;

const CLOSED = /was closed/;
const ATTACKS: Readonly<Record<string, Attack>> = {
  'console of shared workers': {
    script: `for (let n = 0; n < 2; n++) new SharedWorker(${worker(FLOOD)}, 'n' + n)`,
  },
  'console of a frame of another site': {
    script: `const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'localhost') + '/flood'; document.body.append(f)`,
    told: CLOSED,
  },
  'one line of the console that is 200 MB long, again and again': {
    script: `const s = 'x'.repeat(2e8); setInterval(() => console.log(s), 0)`,
    told: CLOSED,
  },
  popups: {
    script: `setInterval(() => { for (let i = 0; i < 20; i++) window.open('/?' + i) }, 20)`,
    told: CLOSED,
  },
  'popups without an opener': {
    script: `setInterval(() => { for (let i = 0; i < 20; i++) window.open('/?' + i, '_blank', 'noopener') }, 20)`,
    told: CLOSED,
  },
  'frames of a web socket': {
    script: `const w = new WebSocket('ws://' + location.host + '/'), s = 'x'.repeat(1e6); w.onopen = () => setInterval(() => { for (let i = 0; i < 20; i++) w.send(s) }, 0)`,
  },

  'document.write': { script: `for (;;) document.write('<p>text'.repeat(1000))`, told: CLOSED },
  '100,000 frames': {
    script: `for (let i = 0; i < 100000; i++) document.body.append(document.createElement('iframe'))`,
    told: CLOSED,
  },
  'alerts of 30 MB': { script: `const s = 'x'.repeat(3e7); for (;;) alert(s)` },
  alerts: { script: `for (;;) alert('x')` },
  'questions whether to leave': {
    script: `addEventListener('beforeunload', e => e.preventDefault()); setInterval(() => { location.search = Math.random() }, 50)`,
  },
  'file choosers': {
    script: `setInterval(() => { const i = document.createElement('input'); i.type = 'file'; i.click() }, 5)`,
    told: CLOSED,
  },
  'downloads of a blob': {
    script: download('URL.createObjectURL(new Blob([new Uint8Array(1e6)]))'),
    told: /was cancelled: /,
  },
  'downloads of a data URL': { script: download(`'data:application/octet-stream,' + 'x'.repeat(1e6)`) },
  'a data URL of 100 MB': {
    script: `const f = document.createElement('iframe'), s = 'data:text/html,' + 'x'.repeat(1e8); f.src = s; document.body.append(f); fetch(s)`,
  },
  'request bodies': {
    script: `const body = 'x'.repeat(2e7); setInterval(() => fetch('/', { method: 'POST', body }).catch(() => {}), 30)`,
    told: CLOSED,
  },
  canvases: {
    script: `const all = []; setInterval(() => { const c = document.createElement('canvas'); c.width = c.height = 8000; c.getContext('2d').fillRect(0, 0, 8000, 8000); all.push(c) }, 20)`,
    told: CLOSED,
  },
  'history.pushState': {
    script: `let i = 0; setInterval(() => { for (let k = 0; k < 100; k++) try { history.pushState('x'.repeat(1e5), '', '/p' + i++) } catch {} }, 0)`,
  },
  'a title of 100 MB': { script: `document.title = 'x'.repeat(1e8)` },
  'an address of 2 MB': { script: `history.replaceState('', '', '/' + 'x'.repeat(2e6))` },
  'local storage': { script: `for (let i = 0; ; i++) localStorage.setItem('k' + i, 'x'.repeat(1e5))` },
  'a cache': {
    script: `caches.open('a').then(c => { let i = 0; setInterval(() => { const u = new Uint8Array(1e7).fill(i); c.put('/c' + i++, new Response(u)) }, 20) })`,
    told: CLOSED,
  },
};

const search = openSearch();

let lease: AttackedLease;
beforeAll(async () => {
  const scripts = Object.fromEntries(Object.entries(ATTACKS).map(([name, { script }]) => [name, script]));
  lease = await startAttackedLease(scripts, {
    [ENV.browserMemoryMb]: '1200',
    [ENV.runnerMemoryMb]: '160',
    [ENV.downloadsMax]: '3',
  });
});
afterEach(() => callText(lease.client, 'browser_close'));
afterAll(() => lease?.[Symbol.asyncDispose]());

test.each(search.sliceOf(Object.entries(ATTACKS)))(
  '%s: the lease lives on, and the next navigation is served',
  { timeout: 120_000 },
  async (attack, { told }) => {
    const first = await callText(lease.client, 'browser_navigate', { url: lease.urlOf(attack) });
    if (told === undefined) await callText(lease.client, 'browser_wait_for', { time: 1 });
    else await lease.told(told, first);
    await lease.expectServed();
  },
);
