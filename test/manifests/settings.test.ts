import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { parseConsoleSettings as readConsole } from '../../console/settings.ts';
import { ENV, PORTS } from '../../contract/names.ts';
import { CONTROLLER_SETTINGS, parseControllerSettings as readController } from '../../controller/settings.ts';
import { postgresConnection } from '../../controller/store/postgres-connection.ts';
import { EGRESS_SETTINGS, parseEgressSettings as readEgress } from '../../egress/settings.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import {
  EGRESS_GRACE_SECONDS,
  renderControllerSettings,
  renderEgressSettings,
} from '../../manifests/parts/configuration.ts';
import { browser, runnerGraceSeconds, uploader } from '../../manifests/parts/runner-containers.ts';
import { renderObjects } from '../../manifests/render.ts';
import { controllerSecretValues, profileKeyValue } from '../../manifests/secret-values.ts';
import { SECRETS } from '../../manifests/secrets.ts';
import { RUNNER_SETTINGS, runnerSettings } from '../../runner/settings.ts';
import { sidecarSettings } from '../../runner/uploader/settings.ts';
import { testCertificate } from '../site/certificate.ts';

/** Variables that the AWS SDK reads by itself. */
const OF_THE_SDK = [ENV.awsRoleArn, ENV.awsWebIdentityTokenFile, ENV.awsStsEndpoint];

/** The controller's Secret, as `make-secrets.ts` makes it. */
const secretOf = ({ profiles }: Environment): Record<string, string> => ({
  ...controllerSecretValues('postgres://user@db.test/omicron').values,
  ...(profiles && !profiles.keyArn ? { [ENV.profileKey]: profileKeyValue() } : {}),
});

describe.each(Object.values(ENVIRONMENTS))('$name', env => {
  test('the controller starts with its ConfigMap and its Secret, and reads every setting in them', async () => {
    const values = secretOf(env);
    const given = { ...renderControllerSettings(env), ...values };
    const parsed = readController(given);
    expect(parsed.capacity).toBe(env.limits.capacity);
    expect(parsed.port).toBe(PORTS.controller);
    const known = new Set<string>([...Object.values(CONTROLLER_SETTINGS).map(([name]) => name), ...OF_THE_SDK]);
    expect(Object.keys(given).filter(name => !known.has(name))).toEqual([]);
    expect(Object.keys(values)).toEqual(expect.arrayContaining([...SECRETS.controller.keys]));
  });

  test('a gateway has the settings of its deployment', async () => {
    const from = { namespaceSelector: { matchLabels: { name: 'ingress' } } };
    const gateway = {
      url: 'https://b.example/mcp',
      issuer: 'https://login.example/',
      userClaim: 'oid',
      toolset: 'core',
      from,
    };
    const values = secretOf(env);
    expect(readController({ ...renderControllerSettings({ ...env, gateway }), ...values })).toMatchObject({
      gatewayUrl: gateway.url,
      gatewayIssuer: gateway.issuer,
      gatewayUserClaim: 'oid',
      gatewayToolset: 'core',
    });
    expect(readController({ ...renderControllerSettings(env), ...values }).gatewayUrl).toBeUndefined();
  });

  test('the egress proxy starts with its ConfigMap and its Secret, and refuses the ranges of the deployment', () => {
    const config = readEgress({ ...renderEgressSettings(env), [ENV.egressSecret]: 'x'.repeat(32) });
    expect(config.deniedCidrs).toEqual(env.ownCidrs);
    expect(config.graceSeconds).toBe(EGRESS_GRACE_SECONDS);
    const known = Object.values(EGRESS_SETTINGS).map(([name]) => name);
    for (const name of Object.keys(renderEgressSettings(env))) expect(known).toContain(name);
  });

  test('an uploader starts with the environment of its container, and its SDK goes where the controller lets it', async () => {
    const given = Object.fromEntries((uploader(env).env ?? []).map(({ name, value }) => [name, value]));
    const parsed = sidecarSettings({ ...given, [ENV.runnerId]: '6f9f4b3e-8f5d-4c07-9d1b-0d9f6f2b7a11' });
    expect(parsed.bucket).toBe(env.artifacts.bucket);
    expect(parsed.uploadSeconds).toBeLessThan(runnerGraceSeconds(env) - 30); // what comes before and after an upload
    const endpoints = renderControllerSettings(env)[ENV.artifactEndpoints]?.split(',') ?? [];
    const asked: string[] = [];
    const requestHandler = {
      handle: async ({ protocol, hostname }: { protocol: string; hostname: string }) => {
        asked.push(`${protocol}//${hostname}`);
        throw new Error('far enough');
      },
    };
    const region = env.artifacts.region;
    const ownEndpoint = env.artifacts.endpoints.s3;
    const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
    const common = { region, requestHandler, credentials, maxAttempts: 1 };
    const s3 = new S3Client({
      ...common,
      ...(ownEndpoint === undefined ? {} : { endpoint: ownEndpoint, forcePathStyle: true }),
    });
    const object = new PutObjectCommand({ Bucket: env.artifacts.bucket, Key: 'k', Body: '' });
    await expect(s3.send(object)).rejects.toThrow('far enough');
    expect(asked).toEqual([endpoints[0]]);
    expect(endpoints[1]).toBe(given[ENV.awsStsEndpoint]);
  });

  test('a runner starts with the environment of its container', async () => {
    const { publicKeys } = await controllerSecretValues('postgres://user@db.test/omicron');
    const given = Object.fromEntries((browser(env).env ?? []).map(({ name, value }) => [name, value]));
    const runner = runnerSettings({
      ...given,
      [ENV.runnerId]: '6f9f4b3e-8f5d-4c07-9d1b-0d9f6f2b7a11',
      [ENV.controllerJwks]: publicKeys,
    });
    expect(runner).toMatchObject({ host: '0.0.0.0', port: PORTS.runner, outputDir: '/output', chromiumSandbox: true });
    expect(runner.egressUrl).toBe(`http://egress-proxy:${PORTS.egress}`);
    const known = [...Object.values(RUNNER_SETTINGS).map(([name]) => name as string), 'HOME'];
    expect(Object.keys(given).filter(name => !known.includes(name))).toEqual([]);
  });
});

test('[G2] no environment hibernates sessions unless its own field or a request says so', () => {
  const settingsOf = (env: Environment) => readController({ ...renderControllerSettings(env), ...secretOf(env) });
  for (const env of Object.values(ENVIRONMENTS)) {
    expect(settingsOf(env).hibernate).toBe('never');
    if (env.profiles === undefined) continue;
    const asked = { ...env, profiles: { ...env.profiles, hibernation: { when: 'node', keptHours: 5 } } } as const;
    expect(settingsOf(asked)).toMatchObject({ hibernate: 'node', hibernatedHours: 5 });
  }
});

test('the controller reaches Postgres with TLS, under an authority of its own where the environment names one', () => {
  const parsed = (env: (typeof ENVIRONMENTS)['prod']) =>
    readController({ ...renderControllerSettings(env), ...secretOf(env) });
  const { prod } = ENVIRONMENTS;
  expect(parsed(prod)).toMatchObject({ databaseTls: 'verify', databaseCa: undefined });
  expect(parsed(ENVIRONMENTS.dev)).toMatchObject({ databaseTls: 'verify' });
  const { databaseUrl, databaseTls } = parsed(ENVIRONMENTS.local); // its Postgres is a pod without TLS
  expect(postgresConnection({ url: databaseUrl, tls: databaseTls }).ssl).toBe(false);
  const { cert } = testCertificate('authority.test');
  expect(parsed({ ...prod, database: { ...prod.database, ca: cert } })).toMatchObject({ databaseCa: cert });
});

describe('settings of an environment that have no field', () => {
  const { prod } = ENVIRONMENTS;
  const from = { podSelector: {} };
  const platform = { issuer: 'https://login.example.com' };
  const SPKI = `${'A'.repeat(43)}=`;
  const env: Environment = {
    ...prod,
    console: { url: 'https://console.example.com', ingress: { from }, platform },
    settings: {
      controller: { OMICRON_ON_USER_LIMIT: 'evict_oldest', OMICRON_MCP_TOKEN_SECONDS: '300' },
      egress: { OMICRON_EGRESS_UPSTREAM_URL: 'http://10.9.0.1:3128' },
      console: { OMICRON_CONSOLE_ADMIN_ROLE: 'browser-admins' },
      runner: { OMICRON_CHROMIUM_SPKI: SPKI, OMICRON_DOWNLOAD_MB: '10' },
    },
  };

  test('reach their programs, and the policy admits a runner with them', () => {
    const rendered = [...renderObjects(env).values()];
    const configured = (name: string) =>
      rendered.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)?.data as object;
    const secrets = { ...secretOf(env), [ENV.egressSecret]: 'x'.repeat(32) };
    const settings = readController({ ...configured('browser-session-controller'), ...secrets });
    expect(settings).toMatchObject({ onUserLimit: 'evict_oldest', mcpTokenSeconds: 300 });
    expect(readEgress({ ...configured('egress-proxy'), ...secrets })).toMatchObject({
      upstreamUrl: 'http://10.9.0.1:3128',
    });
    expect(readConsole({ ...configured('browser-console'), ...secrets })).toMatchObject({
      adminRole: 'browser-admins',
    });
    expect(browser(env).env).toContainEqual({ name: ENV.chromiumSpki, value: SPKI });
    const admitted = rendered.find(({ metadata }) => metadata.name === 'runner-pod-environment');
    expect(JSON.stringify(admitted)).toContain(ENV.downloadMb);
  });

  test('are not what another field gives, nor what belongs into a Secret', () => {
    const controller = (settings: NonNullable<Environment['settings']>['controller']) => () =>
      renderControllerSettings({ ...env, settings: { controller: settings } });
    expect(controller({ OMICRON_CAPACITY: '500' })).toThrow('OMICRON_CAPACITY: set the field limits.capacity instead');
    expect(controller({ OMICRON_PROFILE_KEY: 'k' })).toThrow('OMICRON_PROFILE_KEY: a Secret holds it');
    expect(controller({ OMICRON_DATABASE_URL: 'postgres://a:b@c/d' })).toThrow('a Secret holds it');
  });
});

test('only the local environment lets browsers into a private range', () => {
  expect(ENVIRONMENTS.local.privateSites.cidrs).toEqual(['10.96.0.64/28']);
  expect(
    [ENVIRONMENTS.dev, ENVIRONMENTS.prod].flatMap(env => [...env.privateSites.cidrs, ...env.privateSites.peers]),
  ).toEqual([]);
});
