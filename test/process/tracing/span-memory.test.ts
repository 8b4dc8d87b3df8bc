import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { fakeCollector } from '../../fakes/collector.ts';

const run = promisify(execFile);

/** Makes spans, a thousand a turn of the event loop, and prints how much of the heap is in use after the first and after the last of them. */
const MAKE = `
import { setImmediate } from 'node:timers/promises';
const { openSpan, startTracing } = await import('./process/tracing.ts');
let lost = 0;
const stop = await startTracing({ name: 'x', version: '0', onLost: spans => { lost += spans; } }, process.env);
const make = async thousands => {
  for (let turn = 0; turn < thousands; turn++) {
    for (let each = 0; each < 1000; each++) openSpan('work', { kind: 'server', attributes: { 'http.route': '/work' } }).end();
    await setImmediate();
  }
  gc();
  return process.memoryUsage().heapUsed;
};
const first = await make(10);
const last = await make(100);
await stop();
console.log(JSON.stringify({ first, last, lost }));
process.exit(0);
`;

it('spans for a collector that hangs take no memory past the queue, and each that does not fit is counted', async () => {
  await using collector = await fakeCollector();
  collector.answer('hangs');
  const env = { PATH: process.env.PATH ?? '', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const { stdout } = await run(process.execPath, ['--expose-gc', '--input-type=module', '--eval', MAKE], { env });
  const { first, last, lost } = JSON.parse(stdout) as Record<string, number>; // written above
  // A hundred thousand spans that were kept would take 100 MB.
  expect(Number(last) - Number(first)).toBeLessThan(3_000_000);
  expect(lost).toBeGreaterThan(100_000);
  expect(lost).toBeLessThanOrEqual(110_000);
});
