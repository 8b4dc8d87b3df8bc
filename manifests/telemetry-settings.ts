import * as z from 'zod';
import { choice, decimal, integer, type Variables } from '../process/environment.ts';

const MS_MAX = 3_600_000;

/** Variables of OpenTelemetry that an environment may set for the controller, the egress proxy and the console: docs/operations.md, "Traces". */
export const TELEMETRY_SETTINGS = {
  endpoint: ['OTEL_EXPORTER_OTLP_ENDPOINT', z.string().optional()],
  sampler: ['OTEL_TRACES_SAMPLER', z.string().optional()],
  samplerArg: ['OTEL_TRACES_SAMPLER_ARG', decimal(0, 1).optional()],
  timeoutMs: ['OTEL_EXPORTER_OTLP_TIMEOUT', integer(1, 600_000).optional()],
  traces: ['OTEL_TRACES_EXPORTER', choice('otlp', 'none').optional()],
  metrics: ['OTEL_METRICS_EXPORTER', choice('otlp', 'none').optional()],
  metricsEveryMs: ['OTEL_METRIC_EXPORT_INTERVAL', integer(100, 86_400_000).optional()],
  queue: ['OTEL_BSP_MAX_QUEUE_SIZE', integer(1, 65_536).optional()],
  batch: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', integer(1, 65_536).optional()],
  delayMs: ['OTEL_BSP_SCHEDULE_DELAY', integer(1, MS_MAX).optional()],
  exportMs: ['OTEL_BSP_EXPORT_TIMEOUT', integer(1, MS_MAX).optional()],
  attributes: [
    'OTEL_RESOURCE_ATTRIBUTES',
    z
      .string()
      .regex(/^[^=,\s]+=[^,]*(,[^=,\s]+=[^,]*)*$/, { error: 'must be pairs such as team=browsers,stage=prod' })
      .optional(),
  ],
} as const satisfies Variables;

type TelemetrySettings = typeof TELEMETRY_SETTINGS;
export type TelemetrySetting = TelemetrySettings[keyof TelemetrySettings][0];
