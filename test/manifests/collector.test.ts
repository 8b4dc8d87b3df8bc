import { describe, expect, test } from 'vitest';
import { NAMESPACES } from '../../contract/names.ts';
import { checkSettings } from '../../manifests/check-settings.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { arrayOf, readField } from '../../policies/manifests/rule.ts';
import { findManifestViolations } from '../../policies/manifests/rules.ts';
import { pushed } from './pushed.ts';

const to = [
  { namespaceSelector: { matchLabels: { name: 'telemetry' } }, podSelector: { matchLabels: { app: 'otel' } } },
];
const collector = { endpoint: 'http://otel.telemetry.svc.cluster.local:4318', to, ports: [14_318], traceRatio: '0.25' };

const withCollector = (env: Environment) => [...renderObjects({ ...pushed(env), collector }).values()];
const byName = (all: ReturnType<typeof withCollector>, kind: string, name: string) =>
  all.find(each => each.kind === kind && each.metadata.name === name);

describe.each(Object.values(ENVIRONMENTS))('a collector in $name', env => {
  const all = withCollector(env);
  const programs = ['browser-session-controller', 'egress-proxy', ...(env.console ? ['browser-console'] : [])];

  test('keeps every rule of the manifests', () => {
    expect(findManifestViolations(env.name, all).map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
  });

  test('is named to every program, whose Secret may have its key; a runner is led to the controller, without a key', () => {
    for (const name of programs) {
      expect(byName(all, 'ConfigMap', name)?.data).toMatchObject({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
      });
      const [container] = arrayOf(readField(byName(all, 'Deployment', name), 'spec', 'template', 'spec', 'containers'));
      expect(readField(container, 'env')).toContainEqual({
        name: 'OTEL_EXPORTER_OTLP_HEADERS',
        valueFrom: { secretKeyRef: { name, key: 'OTEL_EXPORTER_OTLP_HEADERS', optional: true } },
      });
    }
    const template = all.find(({ kind }) => kind === 'PodTemplate');
    const [browser] = arrayOf(readField(template, 'template', 'spec', 'containers'));
    const variables = arrayOf(readField(browser, 'env')).filter(each =>
      String(readField(each, 'name')).startsWith('OTEL_'),
    );
    expect(variables).toEqual([
      {
        name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
        value: 'http://browser-session-controller:8080/internal/runner-traces',
      },
      { name: 'OTEL_TRACES_SAMPLER', value: 'parentbased_traceidratio' },
      { name: 'OTEL_TRACES_SAMPLER_ARG', value: '0.25' },
    ]);
    expect(JSON.stringify(template)).not.toContain('telemetry');
  });

  test('is reached by these programs on its port alone, and by no runner', () => {
    const policies = all.filter(({ kind }) => kind === 'NetworkPolicy');
    const open = policies.filter(policy => JSON.stringify(policy).includes('telemetry'));
    expect(open.map(({ metadata }) => `${metadata.namespace} ${metadata.name}`).toSorted()).toEqual(
      ['console', 'controller', 'egress-proxy']
        .filter(name => name !== 'console' || env.console)
        .map(name => `${NAMESPACES.system} ${name}`),
    );
    for (const policy of open) {
      expect(JSON.stringify(readField(policy, 'spec', 'ingress'))).not.toContain('telemetry');
      const rules = arrayOf(readField(policy, 'spec', 'egress')).filter(rule =>
        JSON.stringify(rule).includes('telemetry'),
      );
      expect(JSON.parse(JSON.stringify(rules))).toEqual([{ to, ports: [{ protocol: 'TCP', port: 14_318 }] }]);
    }
  });

  test('is refused by name where its endpoint is no URL', () => {
    const wrong = { ...pushed(env), collector: { ...collector, endpoint: 'collector:4318' } };
    expect(() => checkSettings(wrong)).toThrow(/collector\.endpoint.*"collector:4318" is no http or https URL/s);
  });

  test('is nowhere in an environment without one', () => {
    expect(JSON.stringify([...renderObjects(pushed(env)).values()])).not.toContain('OTEL_');
  });
});
