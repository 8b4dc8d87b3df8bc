import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { NAMESPACES, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { ruleGroups } from '../monitoring/rules.ts';
import { CONTROLLER, EGRESS, meta } from './meta.ts';

const apiVersion = 'monitoring.coreos.com/v1';
const namespace = NAMESPACES.system;

export const runbooksOf = ({ gitops }: Environment): string =>
  `${gitops.repository.replace(/\.git$/, '')}/blob/${gitops.revision}/docs/runbooks`;

/** Objects of the Prometheus operator: what to scrape, and alerts (O21). */
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
  new ApiObject(scope, 'rules', {
    apiVersion,
    kind: 'PrometheusRule',
    metadata: meta('omicron-browser', { namespace, wave: 'after' }),
    spec: { groups: ruleGroups(runbooksOf(env), env.limits.poolIdle) },
  });
}
