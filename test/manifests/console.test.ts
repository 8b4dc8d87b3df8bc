import { describe, expect, test } from 'vitest';
import { CONSOLE_SETTINGS, parseConsoleSettings as readConsole } from '../../console/settings.ts';
import { ENV } from '../../contract/names.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderControllerSettings } from '../../manifests/parts/configuration.ts';
import { renderConsoleSettings } from '../../manifests/parts/console.ts';
import { type KubernetesObject, renderObjects } from '../../manifests/render.ts';
import { findIdleManifestWaivers, findManifestViolations } from '../../policies/manifests/rules.ts';
import { pushed } from './pushed.ts';

const choices: NonNullable<Environment['console']> = {
  url: 'https://console.example.com',
  ingress: {
    className: 'alb',
    annotations: { 'alb.ingress.kubernetes.io/scheme': 'internal' },
    from: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } }, podSelector: {} },
  },
  oidc: { issuer: 'https://login.example.com', clientId: 'console' },
  claims: { user: 'oid' },
  embedOrigins: ['https://chat.example.com'],
};

describe.each(Object.values(ENVIRONMENTS))('a console in $name', env => {
  const withConsole = { ...pushed(env), console: choices };
  const all = [...renderObjects(withConsole).values()];
  const one = (kind: string, name: string) =>
    all.find(({ kind: its, metadata }) => its === kind && metadata.name === name) as KubernetesObject & { spec: never };

  test('keeps every rule', () => {
    expect(findManifestViolations(env.name, all).map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
    expect(findIdleManifestWaivers(env.name, all)).toEqual([]);
  });

  test('reads every setting of its ConfigMap, and agents send people to it', () => {
    const settings = {
      ...renderConsoleSettings(choices, {}),
      [ENV.serviceSecret]: 'x'.repeat(32),
      [ENV.consoleOidcClientSecret]: 's',
    };
    const parsed = readConsole(settings);
    expect(parsed).toMatchObject({ url: choices.url, oidcIssuer: choices.oidc?.issuer, userClaim: 'oid' });
    const known = Object.values(CONSOLE_SETTINGS).map(([name]) => name as string);
    expect(Object.keys(settings).filter(name => !known.includes(name))).toEqual([]);
    expect(renderControllerSettings(withConsole)[ENV.consoleUrl]).toBe(choices.url);
  });

  test('is reached by the ingress alone, and reaches the controller, runners, DNS and the identity provider alone', () => {
    expect(one('Ingress', 'browser-console').spec).toMatchObject({
      ingressClassName: 'alb',
      rules: [{ host: 'console.example.com' }],
    });
    const { ingress, egress } = one('NetworkPolicy', 'console').spec as {
      ingress: { from: unknown[]; ports: unknown[] }[];
      egress: { to: { podSelector?: unknown; ipBlock?: unknown }[]; ports: { port: number }[] }[];
    };
    expect(ingress[0]?.from).toEqual([choices.ingress.from]);
    // Prometheus reaches the port of metrics alone, which the Ingress names nowhere.
    const monitoring = env.monitoringNamespace ? [[{ port: 9090, protocol: 'TCP' }]] : [];
    expect(JSON.parse(JSON.stringify(ingress.slice(1).map(({ ports }) => ports)))).toEqual(monitoring);
    expect(JSON.stringify(one('Ingress', 'browser-console'))).not.toContain('admin');
    expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[53, 53], [8080], [8080], [443]]);
    expect(egress.at(-1)?.to).toMatchObject([{ ipBlock: { cidr: '0.0.0.0/0' } }]);
  });

  test('no other environment object changes when there is none', () => {
    const { console: _, ...none } = pushed(env);
    const without = renderObjects(none);
    expect([...without.keys()].filter(path => path.includes('browser-console'))).toEqual([]);
  });
});

test('a console without a way to sign in does not start', () => {
  const base = {
    ...renderConsoleSettings({ ...choices, oidc: undefined } as never, {}),
    [ENV.serviceSecret]: 'x'.repeat(32),
  };
  expect(() => readConsole(base)).toThrow(ENV.consoleOidcIssuer);
  expect(() => readConsole({ ...base, [ENV.consolePlatformIssuer]: 'http://issuer.example.com' })).toThrow('https');
});
