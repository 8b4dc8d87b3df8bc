import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { readProcessTree } from '../../process/process-tree.ts';
import { killGroup } from '../../runner/browser/browser.ts';
import { eventually } from '../eventually.ts';
import { openSearch } from '../search.ts';
import { type AttackedLease, startAttackedLease } from './attacked-lease.ts';
import { callText } from './start.ts';

const MIB = 1024 * 1024;
const MEMORY_MB = 700;
/** A test whose browser passes this is ended: the machine is not what is tested. */
const GUARD_BYTES = 1_800 * MIB;

/** The act of each hostile page, from 100 ms after it was loaded. */
const ATTACKS: Readonly<Record<string, string>> = {
  console: `for (let i = 0; ; i++) console.log('line ' + i + ' '.repeat(200))`,
  'console-large': `const s = 'x'.repeat(1e6); setInterval(() => { for (let i = 0; i < 100; i++) console.log(s) }, 0)`,
  'console-objects': `setInterval(() => { for (let i = 0; i < 5000; i++) console.log({ a: [1, 2], i }, document.body) }, 0)`,
  'console-frame': `const f = document.createElement('iframe'); f.srcdoc = '<script>for (let i = 0; ; i++) console.log("line " + i)<' + '/script>'; document.body.append(f)`,
  'console-worker': `for (let n = 0; n < 2; n++) new Worker(URL.createObjectURL(new Blob(['for (let i = 0; ; i++) console.log("line " + i)'])))`,
  rejections: `setInterval(() => { for (let i = 0; i < 5000; i++) Promise.reject(new Error('x' + i)) }, 0)`,
  requests: `setInterval(() => { for (let i = 0; i < 2000; i++) fetch('/x?' + Math.random()).catch(() => {}) }, 0)`,
  history: `let i = 0; setInterval(() => { for (let k = 0; k < 2000; k++) try { location.hash = 'h' + i++ } catch {} }, 0)`,
  buffers: `const kept = []; setInterval(() => { kept.push(new Uint8Array(2e7).fill(1)) }, 20)`,
  nodes: `setInterval(() => { for (let i = 0; i < 100000; i++) document.body.append(document.createElement('div')) }, 0)`,
  blobs: `const kept = []; setInterval(() => { kept.push(new Blob([new Uint8Array(1e7)])) }, 20)`,
  database: `const r = indexedDB.open('a', 1); r.onupgradeneeded = () => r.result.createObjectStore('s', { autoIncrement: true });
    r.onsuccess = () => setInterval(() => { const u = new Uint8Array(5e6); for (let i = 0; i < 5e6; i += 60000) crypto.getRandomValues(u.subarray(i, i + 60000));
      r.result.transaction('s', 'readwrite').objectStore('s').add(u) }, 20)`,
};

const search = openSearch();

/** One for all tests; a test that fails takes its lease along. */
let lease: AttackedLease | undefined;
let peakBytes = 0;
let watching: NodeJS.Timeout;
beforeEach(async ({ onTestFailed }) => {
  const used = await startOnce();
  onTestFailed(async () => {
    lease = undefined;
    await used[Symbol.asyncDispose]();
  });
  peakBytes = 0;
  watching = setInterval(() => void look(used), 200);
});
afterEach(async () => {
  clearInterval(watching);
  if (lease !== undefined) await callText(lease.client, 'browser_close');
});
afterAll(() => lease?.[Symbol.asyncDispose]());

async function startOnce(): Promise<AttackedLease> {
  lease ??= await startAttackedLease(ATTACKS, { [ENV.browserMemoryMb]: String(MEMORY_MB) });
  return lease;
}

async function look({ runner }: AttackedLease): Promise<void> {
  const own = runner.browserPid();
  const total = await bytesOf(runner.child.pid ?? 0);
  peakBytes = Math.max(peakBytes, total);
  if (total > GUARD_BYTES) killGroup(own);
}

const bytesOf = async (pid: number): Promise<number> =>
  (await readProcessTree(pid)).reduce((total, { bytes }) => total + bytes, 0);

/** On a slow machine a page that does not answer is freed, as any such page, before it was too much. */
const FREED = /A script that did not end was stopped|did not answer and was closed/;
const ENDED = new RegExp(`was closed: |${FREED.source}`);

test.each(search.sliceOf(Object.keys(ATTACKS)))(
  'a page that floods with %s is closed with an explanation and an event, or freed, and the lease lives on',
  { timeout: 120_000 },
  async attack => {
    const { site, controller, runner, client, urlOf, told, expectServed } = await startOnce();
    const eventsBefore = controller.events.length;
    const text = await told(ENDED, await callText(client, 'browser_navigate', { url: urlOf(attack) }));
    await expectServed();
    await eventually('memory that was given back', async () => (await bytesOf(runner.browserPid())) < 250 * MIB);
    if (!FREED.test(text)) {
      expect(text).toContain(`The tab of ${site} was closed: `);
      const event = await eventually('the event', () =>
        controller.events.slice(eventsBefore).find(({ kind }) => kind === 'page.closed'),
      );
      expect(event.data).toMatchObject({ url: site });
    }
    expect(peakBytes).toBeLessThan(1_400 * MIB);
  },
);
