import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES, RUNNER_TRACES_PATH } from '../../contract/names.ts';
import { type SpanReport, spanReport } from '../../contract/reports.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import { countLostSpans } from '../../process/lost-spans.ts';
import { relaySpans } from '../../process/tracing.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { tokenLeaseEnded } from './live-session.ts';
import { SpanAllowance } from './span-allowance.ts';

/** A report of `REPORTED_SPANS_MAX` spans, a few of them with a hundred links. */
const BODY_BYTES_MAX = 1024 * 1024;

/**
 * Spans of runners on a cluster, whose network ends here: docs/adr/0114. They go on to this replica's collector. No statement of the database
 * is needed: the token says whose they are.
 */
export const runnerTraceRoutes: FastifyPluginAsyncZod<{ publicKeys: ControllerKeys }> = async (app, { publicKeys }) => {
  const allowance = new SpanAllowance();
  app.post(
    RUNNER_TRACES_PATH,
    {
      ...leaseOnly(publicKeys, AUDIENCES.artifacts),
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        operationId: 'reportSpans',
        summary: 'Takes the spans of a lease, as OTLP over HTTP in JSON, and sends them to the collector',
        body: spanReport,
        response: { 200: z.object({}) },
      },
    },
    async request => {
      const { claims, expMs } = leaseOf(request);
      if (expMs < Date.now()) throw tokenLeaseEnded();
      const sent = spansOf(request.body);
      const taken = allowance.take(claims.session_id, sent.length, Date.now());
      const left = sent.length - taken;
      countLostSpans(left);
      if (left > 0) request.log.warn({ session_id: claims.session_id, spans: left }, 'spans lost: more than its share');
      relaySpans(sent.slice(0, taken), {
        name: 'omicron-runner',
        attributes: { 'omicron.session.id': claims.session_id, 'omicron.session.epoch': claims.epoch },
      });
      return {};
    },
  );
};

const spansOf = ({ resourceSpans }: SpanReport) =>
  resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ status, ...span }) => ({ ...span, failed: status.code === 2 }));
