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

it('OpenTelemetry is loaded where an endpoint is named', async () => {
  const on = await modulesOf('./process/span.ts', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  expect(on.traced).toBeGreaterThan(10);
});
