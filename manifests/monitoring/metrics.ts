/** Series that alerts read and that neither the controller nor the egress proxy exports yet, and what for. */
export const PROPOSED = {
  omicron_recordings_total:
    'counter, label state = stored | lost: counted where POST /internal/runner-artifacts writes the row; video durability',
  omicron_sessions_ended_total: 'counter, label reason = END_REASONS: counted where a lease ends; session survival',
} as const;

/** Series of others: the scrape itself, and kube-state-metrics. */
export const FOREIGN = ['up', 'kube_pod_info', 'kube_pod_deletion_timestamp'] as const;
