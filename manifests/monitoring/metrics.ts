/** Series of others: the scrape itself, and kube-state-metrics. */
export const FOREIGN = ['up', 'kube_pod_info', 'kube_pod_deletion_timestamp'] as const;
