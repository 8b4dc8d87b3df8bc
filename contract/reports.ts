import * as z from 'zod';
import { artifactName } from './artifact-name.ts';
import type { EventKind } from './event-kinds.ts';
import { leaseKey } from './lease-key.ts';
import { isStorable } from './storable.ts';
import { spanId, traceId } from './trace-ids.ts';

/** Activity of a lease: at most every 15 s, at once when under 30 s are left. */
export const ACTIVITY_REPORT_SECONDS = 15;
export const ACTIVITY_URGENT_SECONDS = 30;

/** Body of `POST /internal/runner-activity` (lease token). */
export const activityReport = z
  .strictObject({
    calls: z
      .int()
      .min(0)
      .max(1_000_000)
      .describe('Calls since the last report plus those still running; a report of 0 does not renew.'),
  })
  .meta({ id: 'ActivityReport' });

export const activityAnswer = z
  .object({
    remaining_ms: z
      .int()
      .describe('Milliseconds left, counted from before the request was sent; at zero the runner closes.'),
    policy_version: z
      .string()
      .describe(
        "Version of the policy. If it differs from the lease's, read the policy again at `GET /internal/runner-policy`.",
      ),
    held_ms: z
      .int()
      .describe(
        'Milliseconds for which the platform still holds the lease; 0 once it has released it. A held browser is not frozen.',
      ),
  })
  .meta({ id: 'ActivityAnswer' });

/** Event kinds that a runner may write. */
export const RUNNER_EVENT_KINDS = [
  'tool.call',
  'login',
  'challenge.seen',
  'browser.crashed',
  'browser.frozen',
  'browser.thawed',
  'session.hibernate_failed',
  'tabs.restored',
  'page.closed',
  'download.cancelled',
  'file.added',
  'recording.started',
  'recording.stopped',
  'secrets.loaded',
  'control.taken',
  'control.given_back',
  'profile.save_failed',
] as const satisfies readonly EventKind[];

/** The longest maximum age of a lease: a week. */
const AGE_MS_MAX = 7 * 24 * 3_600_000;

export const runnerEvent = z.strictObject({
  id: z.uuid().describe('Id that the runner chooses; a repeated report is written once.'),
  kind: z.enum(RUNNER_EVENT_KINDS).describe('Kind of the event. The controller writes most `session.*` kinds itself.'),
  age_ms: z
    .number()
    .min(0)
    .max(AGE_MS_MAX)
    .describe("Milliseconds between the event and this report, by the runner's monotonic clock."),
  data: z.record(z.string(), z.unknown()).describe('Details of the event, already redacted.'),
});
export type RunnerEvent = z.infer<typeof runnerEvent>;

/** Body of `POST /internal/runner-events` (lease token; artifact token for events at the lease's end). */
export const eventReport = z
  .strictObject({
    events: z.array(runnerEvent).min(1).max(100).describe('Events of the lease.'),
    first_page_ms: z
      .number()
      .min(0)
      .max(AGE_MS_MAX)
      .optional()
      .describe(
        'Milliseconds from the call that opened the first page of the lease until that page was loaded; in one report of a lease.',
      ),
  })
  .meta({ id: 'EventReport' });

/** Spans in one report of a runner; its SDK sends no more at once. */
export const REPORTED_SPANS_MAX = 512;

const nanoseconds = z.string().regex(/^\d{1,19}$/);

const reportedSpan = z
  .object({
    traceId: traceId.describe('Id of the trace, in hex.'),
    spanId: spanId.describe('Id of the span, in hex.'),
    parentSpanId: spanId.optional().describe('Id of the span above it.'),
    name: z
      .string()
      .regex(/^[\w /:.{}*-]{1,120}$/)
      .describe('Name of a route, a tool or a step.'),
    kind: z.int().min(0).max(5).describe('`SpanKind` of OTLP, as a number.'),
    startTimeUnixNano: nanoseconds.describe('Start, in nanoseconds since 1970.'),
    endTimeUnixNano: nanoseconds.describe('End, in nanoseconds since 1970.'),
    attributes: z
      .array(
        z.object({
          key: z.string().max(100).describe('Name of the attribute.'),
          value: z.record(z.string(), z.unknown()).describe('`AnyValue` of OTLP.'),
        }),
      )
      .max(64)
      .default([])
      .describe('Attributes; those that no span of this product has are left out.'),
    links: z
      .array(z.object({ traceId: traceId.describe('Id of its trace.'), spanId: spanId.describe('Id of the span.') }))
      .max(128)
      .default([])
      .describe('Spans of other traces.'),
    status: z
      .object({ code: z.int().optional().describe('2: the span failed.') })
      .default({})
      .describe('How it ended.'),
  })
  .meta({ id: 'ReportedSpan' });

/** Body of `POST /internal/runner-traces` (artifact token): what is kept of OTLP over HTTP, in JSON. */
export const spanReport = z
  .object({
    resourceSpans: z
      .array(
        z.object({
          scopeSpans: z
            .array(
              z.object({ spans: z.array(reportedSpan).max(REPORTED_SPANS_MAX).describe('Spans that have ended.') }),
            )
            .max(8)
            .describe('Spans by the library that made them.'),
        }),
      )
      .max(8)
      .describe('Spans by program.'),
  })
  .meta({ id: 'SpanReport' });
export type SpanReport = z.infer<typeof spanReport>;

/** Body of `POST /internal/runner-artifacts` (artifact token). */
export const artifactReport = z
  .discriminatedUnion('state', [
    z.strictObject({
      state: z.literal('stored').describe('The artifact is in the store.'),
      name: artifactName.describe('Name of the artifact, unique within a lease; the report is idempotent by it.'),
      uri: z.string().max(2048).refine(isStorable).describe('Address in the artifact store.'),
      bytes: z.int().min(0).describe('Size in bytes.'),
    }),
    z.strictObject({
      state: z.literal('lost').describe('The artifact could not be stored.'),
      name: artifactName.describe('Name of the artifact, unique within a lease; the report is idempotent by it.'),
      reason: z.string().min(1).max(1024).refine(isStorable).describe('Reason for the loss.'),
    }),
  ])
  .meta({ id: 'ArtifactReport' });
export type ArtifactReport = z.infer<typeof artifactReport>;

/**
 * The upload order, which a runner leaves for its uploader beside the videos (`/output/upload.json`, mode 0600),
 * written before the first frame or file, and deleted once all is stored.
 */
export const uploadOrder = leaseKey.extend({
  record_video: z.boolean(),
  artifacts_prefix: z.string(),
  artifact_token: z.string(),
  /**
   * The uploader's own credential at the egress proxy, where there is one: for the artifact store and nothing else.
   */
  upload_credential: z.string().optional(),
});
export type UploadOrder = z.infer<typeof uploadOrder>;
export const UPLOAD_ORDER_FILE = 'upload.json';
