import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

/** Counts the modules that a process loads for its program, and those of OpenTelemetry among them; @prometheus-io/client loads its API. */
const COUNT = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
const { startTracing } = await import('./process/tracing.ts');
await import(process.argv[1]);
await startTracing({ name: 'x', version: '0', onLost() {} }, process.env);
console.log(JSON.stringify({ all: loaded.length, traced: loaded.filter(url => /@opentelemetry.(?!api.)/.test(url)).length }));
process.exit(0);
`;

async function modulesOf(program: string, environment: Record<string, string>) {
  const args = ['--input-type=module', '--eval', COUNT, program];
  const { stdout } = await run(process.execPath, args, { env: { PATH: process.env.PATH ?? '', ...environment } });
  return JSON.parse(stdout) as { all: number; traced: number }; // written above
}

it.each(['./controller/compose.ts', './runner/runner.ts', './egress/compose.ts', './console/server/console.ts'])(
  '%s loads nothing of OpenTelemetry unless an endpoint is named',
  async program => {
    const off = await modulesOf(program, {});
    expect(off.all).toBeGreaterThan(100);
    expect(off.traced).toBe(0);
  },
);

/** Bytes of the heap in use, once these modules are loaded. */
const MEASURE = `
await import('./process/environment.ts');
const before = (gc(), process.memoryUsage().heapUsed);
const { startTracing } = await import('./process/tracing.ts');
await startTracing({ name: 'x', version: '0', onLost() {} }, process.env);
gc();
console.log(process.memoryUsage().heapUsed - before);
process.exit(0);
`;

it('tracing that is off takes less than a tenth of the memory of tracing that is on', async () => {
  const measure = async (environment: Record<string, string>) => {
    const args = ['--expose-gc', '--input-type=module', '--eval', MEASURE];
    const { stdout } = await run(process.execPath, args, { env: { PATH: process.env.PATH ?? '', ...environment } });
    return Number(stdout);
  };
  const [off, on] = [await measure({}), await measure({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })];
  expect(on).toBeGreaterThan(1_000_000);
  expect(off).toBeLessThan(on / 10);
});

it('OpenTelemetry is loaded where an endpoint is named', async () => {
  const on = await modulesOf('./process/span.ts', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  expect(on.traced).toBeGreaterThan(10);
});
