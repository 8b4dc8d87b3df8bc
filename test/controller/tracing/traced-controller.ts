import { afterEach } from 'vitest';
import { startTracing } from '../../../process/tracing.ts';

/** Traces the controllers of each test of a file, from `start` on; `stop` sends what waits, as does the end of the test. */
export function tracedControllers() {
  let stopTracing: () => Promise<void> = async () => {};
  const stop = async () => {
    await stopTracing();
    delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  };
  afterEach(stop);
  return {
    async start(collectorUrl: string) {
      process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collectorUrl;
      stopTracing = await startTracing({ name: 'omicron-controller', version: '0', onLost() {} }, process.env);
    },
    stop,
  };
}
