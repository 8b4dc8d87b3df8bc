import { NAMESPACES } from '../../contract/names.ts';
import { countPods, countRunners, maxOf, prefixSeries, SCRAPED, scrapedUp } from './series.ts';

/** An alert that is not about an objective: a cause rather than what users notice. */
export interface Alert {
  readonly alert: string;
  readonly summary: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'page' | 'ticket';
  /** Left out where there is no pool of warm runners. */
  readonly ofPool?: true;
}

/**
 * Pods beyond the database's runners that are normal under load: created but not recorded yet, removed but still
 * listed.
 */
const PODS_SLACK = 5;
/** A runner's grace period is two minutes; five times that is no slow upload any more. */
const STUCK_SECONDS = 600;
/**
 * S3 removes at the midnight after an object's day, and then within some time:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-expire-general-considerations.html
 */
const LIFECYCLE_DAYS = 3;

export const ALERTS: readonly Alert[] = [
  {
    alert: 'BrowserControllerDown',
    summary: 'No replica of the session controller is up: no browser can be leased, and leases end when they expire',
    expr: `absent(${scrapedUp(SCRAPED.controller)} == 1)`,
    for: '2m',
    severity: 'page',
  },
  {
    alert: 'BrowserEgressDown',
    summary: 'No replica of the egress proxy is up: browsers reach no site, recordings are not uploaded',
    expr: `absent(${scrapedUp(SCRAPED.egress)} == 1)`,
    for: '2m',
    severity: 'page',
  },
  {
    alert: 'BrowserRunnersDoNotStart',
    summary: 'Runners fail to start repeatedly',
    expr: 'sum(increase(omicron_pod_create_failures_total[10m])) > 5',
    for: '5m',
    severity: 'page',
  },
  {
    alert: 'BrowserRunnerPodsRunaway',
    summary: 'There are more runner pods than the database has runners, or than the capacity allows',
    expr: `${countPods} > ${countRunners('!="gone"')} + ${PODS_SLACK} or ${countPods} > ${maxOf('omicron_capacity')} + ${PODS_SLACK}`,
    for: '10m',
    severity: 'page',
  },
  {
    alert: 'BrowserRunnerPodStuckTerminating',
    summary: 'A runner pod is stuck in Terminating; it counts towards the capacity until it is gone',
    expr: `count(time() - kube_pod_deletion_timestamp{namespace="${NAMESPACES.runners}"} > ${STUCK_SECONDS}) > 0`,
    for: '5m',
    severity: 'ticket',
  },
  {
    alert: 'BrowserCapacityShort',
    summary: 'More than 90 % of the runner capacity is in use',
    expr: `${countRunners('!~"gone|warm"')} / ${maxOf('omicron_capacity')} > 0.9`,
    for: '10m',
    severity: 'ticket',
  },
  {
    alert: 'BrowserWarmPoolEmpty',
    summary: 'No warm runner for 15 minutes although there is capacity: every request waits for a start',
    expr: `(${countRunners('="warm"')} or vector(0)) == 0 and ${countRunners('!="gone"')} < ${maxOf('omicron_capacity')}`,
    for: '15m',
    severity: 'ticket',
    ofPool: true,
  },
  {
    alert: 'BrowserEgressCutOff',
    summary: 'The egress proxy cannot reach the controller: it refuses leases that it does not know',
    expr: 'sum(rate(omicron_egress_policy_failures_total[5m])) > 0.1',
    for: '5m',
    severity: 'page',
  },
  {
    alert: 'BrowserArtifactsNotExpiring',
    summary: 'The lifecycle rule of the bucket of recordings is missing, has other days, or does not run',
    expr: `${prefixSeries('expiry_seconds')} != ${prefixSeries('retention_seconds')} or time() - ${prefixSeries('oldest_timestamp_seconds', 'min')} > ${prefixSeries('retention_seconds')} + 86400 * ${LIFECYCLE_DAYS}`,
    for: '2h',
    severity: 'ticket',
  },
  {
    alert: 'BrowserArtifactStoreUnchecked',
    summary: 'The controller cannot look at the bucket of recordings: nothing is known of what it keeps',
    expr: 'sum(increase(omicron_artifact_store_check_failures_total[6h])) > 4',
    for: '10m',
    severity: 'ticket',
  },
  {
    alert: 'BrowserAuditNotExported',
    summary: 'Audit entries do not reach the bucket: they wait in the database',
    expr: 'sum(increase(omicron_audit_export_failures_total[1h])) > 5 or max(omicron_audit_waiting_seconds) > 7200',
    for: '10m',
    severity: 'ticket',
  },
  {
    alert: 'BrowserWebhookEventsUndelivered',
    summary: 'Events were not delivered to a webhook within a day, or no attempt of the last hour succeeded',
    expr: 'sum(increase(omicron_webhook_undelivered_events_total[1h])) > 0 or sum(increase(omicron_webhook_attempts_total{outcome="failed"}[1h])) > 5 unless sum(increase(omicron_webhook_attempts_total{outcome="delivered"}[1h])) > 0',
    for: '10m',
    severity: 'ticket',
  },
  {
    alert: 'BrowserEgressDenialsUnreported',
    summary: 'Denials are missing from the timelines of their sessions',
    expr: 'sum(increase(omicron_egress_events_dropped_total[30m])) > 0',
    for: '5m',
    severity: 'ticket',
  },
];
