import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { ENV, NAMESPACES, PORTS, SERVICE_ACCOUNTS, SERVICES } from '../../contract/names.ts';
import type { ConsoleChoices, Environment } from '../environment-type.ts';
import { SECRETS } from '../secrets.ts';
import { byField, fixedSetting, resolveSettings } from '../settings.ts';
import { telemetrySettings } from '../telemetry.ts';
import { collectorKeys, FIXED } from './configuration.ts';
import { workload } from './deployment.ts';
import { CONSOLE, meta, portNumber } from './meta.ts';

/** Settings of the console that are not secret; `console/settings.ts` parses them. */
export const renderConsoleSettings = (
  { url, embedOrigins = [], oidc, platform, claims = {} }: ConsoleChoices,
  env: Pick<Environment, 'collector' | 'settings'>,
): Readonly<Record<string, string>> =>
  resolveSettings(
    {
      [ENV.consoleUrl]: byField('console.url', url),
      [ENV.consolePort]: fixedSetting(String(PORTS.console), FIXED.port),
      [ENV.consoleAdminPort]: fixedSetting(String(PORTS.consoleAdmin), FIXED.port),
      [ENV.controllerUrl]: fixedSetting(`http://${SERVICES.controller}:${PORTS.controller}`, FIXED.address),
      [ENV.consoleEmbedOrigins]: byField('console.embedOrigins', embedOrigins.join(',') || undefined),
      [ENV.consoleOidcIssuer]: byField('console.oidc.issuer', oidc?.issuer),
      [ENV.consoleOidcClientId]: byField('console.oidc.clientId', oidc?.clientId),
      [ENV.consolePlatformIssuer]: byField('console.platform.issuer', platform?.issuer),
      [ENV.consoleUserClaim]: byField('console.claims.user', claims.user),
      [ENV.consoleRoleClaim]: byField('console.claims.role', claims.role),
      [ENV.consoleRoleWithout]: byField('console.claims.roleWithout', claims.roleWithout),
      ...telemetrySettings(env),
    },
    env.settings?.console,
  );

/** The console and the way in to it, where the environment has one. */
export function webConsole(scope: Construct, env: Environment): void {
  const { console: choices, images } = env;
  if (choices === undefined) return;
  const namespace = NAMESPACES.system;
  const health = { httpGet: { path: '/healthz', port: portNumber(PORTS.console) }, timeoutSeconds: 5 };
  new k8s.KubeServiceAccount(scope, `account-${SERVICE_ACCOUNTS.console}`, {
    metadata: meta(SERVICE_ACCOUNTS.console, { namespace, wave: 'isolation' }),
    automountServiceAccountToken: false,
  });
  workload(scope, {
    name: SERVICES.console,
    labels: CONSOLE,
    account: SERVICE_ACCOUNTS.console,
    image: images.console,
    replicas: 1,
    alone: 'Sign-ins are in its memory, and no agent needs it: a restart costs people one redirect (ADR 0080).',
    settings: renderConsoleSettings(choices, env),
    secret: SECRETS.console,
    optionalKeys: [ENV.consoleOidcClientSecret, ENV.consolePlatformSecret, ...collectorKeys(env)],
    ports: [
      { name: 'http', containerPort: PORTS.console, protocol: 'TCP' },
      { name: 'admin', containerPort: PORTS.consoleAdmin, protocol: 'TCP' },
    ],
    probes: {
      startupProbe: { ...health, periodSeconds: 2, failureThreshold: 30 },
      readinessProbe: { ...health, periodSeconds: 5, failureThreshold: 2 },
      livenessProbe: { ...health, periodSeconds: 10, failureThreshold: 3 },
    },
    resources: { cpu: ['50m', '1'], memory: ['128Mi', '512Mi'], ephemeralStorage: ['32Mi', '64Mi'] },
    folders: { '/tmp': '32Mi' },
    stopSeconds: 10,
  });
  const { className, annotations = {}, tlsSecret } = choices.ingress;
  if (className === undefined) return;
  const { hostname } = new URL(choices.url);
  new k8s.KubeIngress(scope, 'ingress-console', {
    metadata: meta(SERVICES.console, { namespace, wave: 'after', labels: CONSOLE, annotations }),
    spec: {
      ingressClassName: className,
      ...(tlsSecret ? { tls: [{ hosts: [hostname], secretName: tlsSecret }] } : {}),
      rules: [
        {
          host: hostname,
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: SERVICES.console, port: { name: 'http' } } },
              },
            ],
          },
        },
      ],
    },
  });
}
