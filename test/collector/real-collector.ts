import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import type { fakeCollector } from '../fakes/collector.ts';
import { buildGoTool } from '../go-tool.ts';
import { ROOT } from '../local/machine.ts';

/** Builds OpenTelemetry's collector from its module. Throws with what to do where this machine cannot. */
export function buildCollector(): string {
  let missing = '';
  const folder = join(ROOT, 'test/collector');
  const program = buildGoTool({ name: 'otelcol', folder, module: '.' }, why => {
    missing = why;
  });
  if (program === undefined) throw new Error(missing);
  return program;
}

/** The argument with which the program takes OTLP at `endpoint`, and sends it on to `target` as JSON. */
export function collectorArgument(endpoint: string, target: string): string {
  const pipeline = { receivers: ['otlp'], exporters: ['otlp_http'] };
  const configuration = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    // Without a queue, what it has answered has arrived.
    exporters: {
      otlp_http: { endpoint: target, encoding: 'json', compression: 'none', sending_queue: { enabled: false } },
    },
    service: {
      pipelines: { traces: pipeline, metrics: pipeline },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
    },
  };
  return `--config=yaml:${JSON.stringify(configuration)}`;
}

/** The program on this machine, which takes OTLP at `url`. */
export async function startCollector(program: string, target: Awaited<ReturnType<typeof fakeCollector>>) {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const collector = spawn(program, [collectorArgument(endpoint, target.url)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://${endpoint}`;
  await eventually('the collector listens', () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return {
    url,
    async [Symbol.asyncDispose](): Promise<void> {
      collector.kill();
      if (collector.exitCode === null) await once(collector, 'exit');
    },
  };
}

if (import.meta.main) buildCollector(); // for .ci/run: beside other tests
