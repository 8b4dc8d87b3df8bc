import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { runnerTempDir } from '../../runner/browser/temp-dir.ts';
import { eventually } from '../eventually.ts';
import { type AttackedLease, startAttackedLease } from './attacked-lease.ts';
import { callText } from './start.ts';

const MIB = 1024 * 1024;
const LIMITS = { [ENV.browserMemoryMb]: '700', [ENV.downloadMb]: '20' };

let lease: AttackedLease;
beforeAll(async () => {
  lease = await startAttackedLease({}, LIMITS);
});
afterEach(() => callText(lease.client, 'browser_close'));
afterAll(() => lease?.[Symbol.asyncDispose]());

/** Bytes of the files below a folder. */
const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((total, { parentPath, name }) => total + statSync(join(parentPath, name)).size, 0);

const STARTERS = {
  'a link': `const a = document.createElement('a'); a.href = '/endless'; a.download = 'x'; a.click()`,
  'a navigation': `location.href = '/endless'`,
  'a frame': `const f = document.createElement('iframe'); f.src = '/endless'; document.body.append(f)`,
  'a popup': `window.open('/endless')`,
  'a form': `const f = document.createElement('form'); f.action = '/endless'; document.body.append(f); f.submit()`,
  'a blob': `const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob([new Uint8Array(3e7)])); a.download = 'x'; a.click()`,
};

test.each(Object.entries(STARTERS))(
  'a download without an end that %s started is cancelled, with an explanation and an event',
  async (_, script) => {
    const { site, controller, runner, client, told, expectServed } = lease;
    const eventsBefore = controller.events.length;
    await callText(client, 'browser_navigate', { url: `${site}/` });
    const first = await callText(client, 'browser_evaluate', { function: `() => { ${script} }` });
    const text = await told(/was cancelled: /, first);
    expect(text).toContain('was cancelled: a file may have at most 20 MiB.');
    await expectServed();
    const event = await eventually('the event', () =>
      controller.events.slice(eventsBefore).find(({ kind }) => kind === 'download.cancelled'),
    );
    expect(event.data).toMatchObject({ reason: 'a file may have at most 20 MiB' });
    await eventually('the file to go', () => bytesIn(runnerTempDir(runner.runnerId)) < 10 * MIB);
  },
);

test('a page that downloads file after file gets as many as the setting says', async () => {
  await using limited = await startAttackedLease({}, { ...LIMITS, [ENV.downloadsMax]: '3' });
  const { site, runner, client, told, expectServed } = limited;
  await callText(client, 'browser_navigate', { url: `${site}/` });
  const script = `for (let i = 0; i < 40; i++) setTimeout(() => {
    const a = document.createElement('a'); a.href = '/file?' + i; a.download = 'f' + i; a.click(); }, i * 100)`;
  const first = await callText(client, 'browser_evaluate', { function: `() => { ${script} }` });
  const text = await told(/was cancelled: /, first);
  expect(text).toContain('this lease has had its 3 downloads');
  await expectServed();
  // A download that begins meanwhile may still end: small files are quicker than that.
  expect(readdirSync(join(runnerTempDir(runner.runnerId), 'downloads')).length).toBeLessThan(12);
});
