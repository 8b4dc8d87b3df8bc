import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { NAMESPACES, SERVICES } from '../../contract/names.ts';
import { SOURCE_REPOSITORY } from '../../contract/source-repository.ts';
import type { Environment } from '../environment-type.ts';
import { dashboardFile } from '../monitoring/dashboard.ts';
import { DASHBOARDS } from '../monitoring/dashboards/all.ts';
import { ruleGroups } from '../monitoring/rules.ts';
import { CONSOLE, CONTROLLER, EGRESS, meta } from './meta.ts';

const apiVersion = 'monitoring.coreos.com/v1';
const namespace = NAMESPACES.system;

/**
 * ConfigMaps with this label are dashboards to the sidecar of Grafana's chart, in any namespace with `searchNamespace: ALL`:
 * https://github.com/grafana/helm-charts/blob/main/charts/grafana/README.md#sidecar-for-dashboards
 */
const DASHBOARD_LABEL = { grafana_dashboard: '1' } as const;

/** A registry that Argo CD reads has no pages: the source repository has those of the release. */
export const runbooksOf = ({ gitops: { repository, revision } }: Pick<Environment, 'gitops'>): string =>
  repository.startsWith('oci://')
    ? `${SOURCE_REPOSITORY}/blob/v${revision}/docs/runbooks`
    : `${repository.replace(/\.git$/, '')}/blob/${revision}/docs/runbooks`;

/** Objects of the Prometheus operator: what to scrape, and alerts (O21). Dashboards, for the sidecar of Grafana. */
export function monitoring(scope: Construct, env: Environment): void {
  if (!env.monitoringNamespace) return;
  const scrape = (name: string, labels: Readonly<Record<string, string>>, port: string) =>
    new ApiObject(scope, `monitor-${name}`, {
      apiVersion,
      kind: 'ServiceMonitor',
      metadata: meta(name, { namespace, wave: 'after', labels }),
      spec: {
        selector: { matchLabels: labels },
        namespaceSelector: { matchNames: [namespace] },
        endpoints: [{ port, path: '/metrics', interval: '15s', scrapeTimeout: '10s' }],
      },
    });
  scrape(SERVICES.controller, CONTROLLER, 'http');
  scrape(SERVICES.egress, EGRESS, 'admin');
  if (env.console) scrape(SERVICES.console, CONSOLE, 'admin');
  new ApiObject(scope, 'rules', {
    apiVersion,
    kind: 'PrometheusRule',
    metadata: meta('omicron-browser', { namespace, wave: 'after' }),
    spec: { groups: ruleGroups(runbooksOf(env), env.limits.poolIdle) },
  });
  for (const dashboard of DASHBOARDS)
    new ApiObject(scope, `dashboard-${dashboard.uid}`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: meta(`dashboard-${dashboard.uid}`, {
        namespace,
        wave: 'after',
        labels: DASHBOARD_LABEL,
        annotations: { grafana_folder: 'Omicron Browser' },
      }),
      data: { [`${dashboard.uid}.json`]: dashboardFile(dashboard) },
    });
}
