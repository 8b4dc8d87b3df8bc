import { LABELS, NAMESPACES } from '../../contract/names.ts';

// Every replica reads its gauges and the deployment's totals from the database, so they all report the same value.
export const maxOf = (series: string): string => `max(${series})`;
export const countRunners = (state: string): string => `max(sum by (instance) (omicron_runners{state${state}}))`;
/** Prefixes of videos and files, and of kept pages: each prefix has days of its own. */
export const prefixSeries = (what: string, of = 'max'): string => `${of} by (prefix) (omicron_artifact_store_${what})`;
export const countPods = `count(kube_pod_info{namespace="${NAMESPACES.runners}"})`;
export const scrapedUp = (app: string): string => `up{namespace="${NAMESPACES.system}",job="${app}"}`;
export const SCRAPED = {
  controller: LABELS.controllerApp,
  egress: LABELS.egressApp,
  console: LABELS.consoleApp,
} as const;
