import fc from 'fast-check';
import type { Environment } from '../../manifests/environment-type.ts';

const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,7}[a-z0-9])?$/);
const url = name.map(host => `https://${host}.example.com`);
const arn = name.map(role => `arn:aws:iam::111122223333:role/${role}`);
const cidr = fc.tuple(fc.ipV4(), fc.constantFrom(16, 24, 32)).map(([ip, bits]) => `${ip}/${bits}`);
const ports = fc.uniqueArray(fc.integer({ min: 1, max: 65_535 }), { minLength: 1, maxLength: 3 });
const peer = fc.oneof(
  cidr.map(range => ({ ipBlock: { cidr: range } })),
  name.map(label => ({ namespaceSelector: { matchLabels: { label } }, podSelector: {} })),
);
const peers = fc.array(peer, { minLength: 1, maxLength: 3 });
const few = <T>(of: fc.Arbitrary<T>, minLength = 0) => fc.array(of, { minLength, maxLength: 3 });
const two = <T>(of: fc.Arbitrary<T>) => fc.tuple(of, of);
const cores = fc.oneof(
  fc.integer({ min: 1, max: 8 }).map(String),
  fc.integer({ min: 10, max: 4_000 }).map(n => `${n}m`),
);
const bytes = fc
  .tuple(fc.integer({ min: 1, max: 2_000 }), fc.constantFrom('Mi', 'Gi'))
  .map(([n, unit]) => `${n}${unit}`);
const resources = fc.record({ cpu: two(cores), memory: two(bytes), ephemeralStorage: two(bytes) });
const count = (min: number, max: number) => fc.integer({ min, max });

const consoleOf = fc.record({
  url,
  ingress: fc.record({
    className: maybe(name),
    annotations: maybe(fc.dictionary(name, name, { maxKeys: 2 })),
    tlsSecret: maybe(name),
    from: peer,
  }),
  oidc: maybe(fc.record({ issuer: url, clientId: name })),
  platform: maybe(fc.record({ issuer: url })),
  identityProvider: maybe(peers),
  claims: maybe(
    fc.record({
      user: maybe(name),
      role: maybe(name),
      roleWithout: maybe(fc.constantFrom('viewer' as const, 'none' as const)),
    }),
  ),
  embedOrigins: maybe(few(url)),
});

/** Any environment that the chart offers. */
export const anyEnvironment: fc.Arbitrary<Environment> = fc
  .record({
    name: name as fc.Arbitrary<Environment['name']>, // the chart takes any
    podSecurityVersion: fc.constantFrom('v1.35', 'latest'),
    images: fc.record({ controller: name, runner: name, egress: name, console: name, pause: name }),
    signedImages: maybe(
      fc.record({
        publicKey: fc.constant('-----BEGIN PUBLIC KEY-----\nMFkw+/==\n-----END PUBLIC KEY-----\n'),
        registryProvider: maybe(fc.constantFrom('amazon' as const, 'google' as const)),
      }),
    ),
    apiNamespace: fc.constantFrom('ours' as const, 'existing' as const),
    clusterIps: fc.record({ controller: fc.ipV4(), egress: fc.ipV4() }),
    apiServer: fc.record({ cidrs: few(cidr, 1), ports }),
    database: fc.record({
      to: peers,
      ports,
      tls: maybe(fc.constant('off' as const)),
      ca: maybe(fc.constant('-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n')),
    }),
    controllerReachesPublicHttps: fc.boolean(),
    ownCidrs: few(cidr, 1),
    privateSites: fc.record({ cidrs: few(cidr), peers: few(peer) }),
    roles: maybe(fc.record({ uploader: arn, controller: arn })),
    artifacts: fc.record({
      bucket: name,
      region: name,
      endpoints: fc.record({ s3: maybe(url), sts: maybe(url) }),
      webIdentityRole: maybe(arn),
    }),
    profiles: fc.record({
      keyArn: maybe(arn),
      endpoints: fc.record({ to: peers, ports }),
      hibernation: maybe(
        fc.record({ when: fc.constantFrom('node' as const, 'expiry' as const), keptHours: count(1, 99) }),
      ),
    }),
    collector: maybe(
      fc.record({ endpoint: url, to: peers, ports, traceRatio: maybe(fc.constantFrom('0', '0.25', '1')) }),
    ),
    gateway: maybe(
      fc.record({
        ...{
          url,
          issuer: url,
          audience: maybe(name),
          userClaim: maybe(name),
          toolset: maybe(name),
          liveUrl: maybe(url),
        },
        from: peer,
      }),
    ),
    console: maybe(consoleOf),
    replicas: fc.record({ controller: count(1, 9), egress: count(1, 9) }),
    runner: fc.record({
      ...{
        browser: resources,
        uploader: resources,
        architecture: maybe(fc.constantFrom('amd64' as const, 'arm64' as const)),
        runtimeClassName: maybe(name),
      },
      keepPages: maybe(fc.constantFrom('none' as const, 'calls' as const)),
      keepFiles: maybe(fc.constantFrom('none' as const, 'all' as const)),
      ...{ insecureLoginOrigins: maybe(few(url, 1)), mcpOrigins: maybe(few(url, 1)) },
    }),
    spareRunners: count(0, 3),
    limits: fc.record({
      ...{ capacity: count(1, 5_000), userLimit: count(1, 9), poolIdle: count(0, 2), poolBurst: count(1, 9) },
      ...{ maxSessionMinutes: count(1, 999), retentionDays: count(1, 99), pagesRetentionDays: count(1, 99) },
    }),
    logLevel: fc.constantFrom('info' as const, 'debug' as const),
    secretStore: fc.constantFrom('vault-sql' as const, 'vault-rest' as const, 'vault-kv' as const),
    vault: maybe(fc.record({ to: peers, ports })),
    monitoringNamespace: maybe(name),
    gitops: fc.record({ repository: url.map(each => `${each}/browser.git`), revision: name }),
  })
  .map(env => JSON.parse(JSON.stringify(env)) as Environment); // without fields that are undefined
