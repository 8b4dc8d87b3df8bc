import type { Environment } from '../environment-type.ts';

/**
 * A field of the environment in place of its value: the code that renders manifests copies it to wherever the value goes, and the
 * chart has a reference to the value there.
 */
export interface SymbolOf {
  /** Path in the environment, and in the chart's values. */
  readonly path: string;
  /** `list`: an item for each value where it is in a list, joined by commas elsewhere. `joined`: joined everywhere. `entries`: of a map. */
  readonly kind: 'text' | 'number' | 'list' | 'joined' | 'object' | 'objects' | 'entries';
  /** Applied to the value where it stands. */
  readonly as?: 'hostname' | 'repository';
}

/** By the text that stands for each. */
const symbols = new Map<string, SymbolOf>();

function mark(text: string, symbol: SymbolOf): string {
  if (symbols.has(text)) throw new Error(`two fields have the mark ${text}`);
  symbols.set(text, symbol);
  return text;
}

const text = (path: string) => mark(`zz-${path.replaceAll('.', '-').toLowerCase()}-zz`, { path, kind: 'text' });
const list = (path: string, kind: 'list' | 'joined' = 'joined') => [
  mark(`zz-${path.replaceAll('.', '-').toLowerCase()}-zz`, { path, kind }),
];
const peer = (path: string, kind: 'object' | 'objects') => ({
  ipBlock: { cidr: mark(`zz-${path.replaceAll('.', '-').toLowerCase()}-zz`, { path, kind }) },
});
let last = 710_000;
const number = (path: string): number => Number(mark(String(++last), { path, kind: 'number' }));
const ports = (path: string): number[] => [Number(mark(String(++last), { path, kind: 'list' }))];
/** Quantities must be such, for sums of them are rendered too; the sums are in `derived.ts`. */
const resources = (path: string) => {
  const both = (field: string, unit: string) =>
    [0, 1].map(at => mark(`${++last}${unit}`, { path: `${path}.${field}.${at}`, kind: 'text' })) as [string, string];
  return { cpu: both('cpu', 'm'), memory: both('memory', 'Mi'), ephemeralStorage: both('ephemeralStorage', 'Mi') };
};

const CONSOLE_HOST = mark('zz-console-host.invalid', { path: 'console.url', kind: 'text', as: 'hostname' });
const REPOSITORY = mark('https://zz-repository.invalid/it', {
  path: 'gitops.repository',
  kind: 'text',
  as: 'repository',
});

/** An environment with everything that the chart offers, each value a mark. `variants.ts` takes one thing away at a time. */
export const MARKED: Environment = {
  name: text('name') as Environment['name'], // written down as it is, and compared with nothing
  podSecurityVersion: text('podSecurityVersion'),
  images: {
    controller: text('images.controller'),
    runner: text('images.runner'),
    egress: text('images.egress'),
    console: text('images.console'),
    pause: text('images.pause'),
  },
  signedImages: {
    publicKey: text('signedImages.publicKey'),
    registryProvider: text('signedImages.registryProvider') as 'amazon',
  },
  apiNamespace: 'ours',
  clusterIps: { controller: text('clusterIps.controller'), egress: text('clusterIps.egress') },
  apiServer: { cidrs: list('apiServer.cidrs', 'list'), ports: ports('apiServer.ports') },
  database: {
    to: [peer('database.to', 'objects')],
    ports: ports('database.ports'),
    tls: text('database.tls') as 'off',
    ca: text('database.ca'),
  },
  controllerReachesPublicHttps: true,
  // a public one: others are not excepted from the internet, which has none of them
  ownCidrs: [mark('203.0.113.253/32', { path: 'ownCidrs', kind: 'list' })],
  privateSites: { cidrs: list('privateSites.cidrs'), peers: [peer('privateSites.peers', 'objects')] },
  roles: { uploader: text('roles.uploader'), controller: text('roles.controller') },
  artifacts: {
    bucket: text('artifacts.bucket'),
    region: text('artifacts.region'),
    endpoints: { s3: text('artifacts.endpoints.s3'), sts: text('artifacts.endpoints.sts') },
    webIdentityRole: text('artifacts.webIdentityRole'),
  },
  profiles: {
    keyArn: text('profiles.keyArn'),
    endpoints: { to: [peer('profiles.endpoints.to', 'objects')], ports: ports('profiles.endpoints.ports') },
    hibernation: {
      when: text('profiles.hibernation.when') as 'node',
      keptHours: number('profiles.hibernation.keptHours'),
    },
  },
  gateway: {
    url: text('gateway.url'),
    issuer: text('gateway.issuer'),
    audience: text('gateway.audience'),
    userClaim: text('gateway.userClaim'),
    toolset: text('gateway.toolset'),
    liveUrl: text('gateway.liveUrl'),
    from: peer('gateway.from', 'object'),
  },
  console: {
    url: mark(`https://${CONSOLE_HOST}`, { path: 'console.url', kind: 'text' }),
    ingress: {
      className: text('console.ingress.className'),
      annotations: {
        [mark('zz-console-annotations-zz', { path: 'console.ingress.annotations', kind: 'entries' })]: '',
      },
      tlsSecret: text('console.ingress.tlsSecret'),
      from: peer('console.ingress.from', 'object'),
    },
    oidc: { issuer: text('console.oidc.issuer'), clientId: text('console.oidc.clientId') },
    platform: { issuer: text('console.platform.issuer') },
    identityProvider: [peer('console.identityProvider', 'objects')],
    claims: {
      user: text('console.claims.user'),
      role: text('console.claims.role'),
      roleWithout: text('console.claims.roleWithout') as 'viewer',
    },
    embedOrigins: list('console.embedOrigins'),
  },
  replicas: { controller: number('replicas.controller'), egress: number('replicas.egress') },
  runner: {
    browser: resources('runner.browser'),
    uploader: resources('runner.uploader'),
    keepPages: text('runner.keepPages') as 'none',
    keepFiles: text('runner.keepFiles') as 'none',
    insecureLoginOrigins: list('runner.insecureLoginOrigins'),
    mcpOrigins: list('runner.mcpOrigins'),
    architecture: text('runner.architecture') as 'arm64',
    runtimeClassName: text('runner.runtimeClassName'),
  },
  spareRunners: number('spareRunners'),
  limits: {
    capacity: number('limits.capacity'),
    userLimit: number('limits.userLimit'),
    poolIdle: number('limits.poolIdle'),
    poolBurst: number('limits.poolBurst'),
    maxSessionMinutes: number('limits.maxSessionMinutes'),
    retentionDays: number('limits.retentionDays'),
    pagesRetentionDays: number('limits.pagesRetentionDays'),
  },
  logLevel: text('logLevel') as 'info',
  secretStore: 'vault-kv',
  vault: { to: [peer('vault.to', 'objects')], ports: ports('vault.ports') },
  collector: {
    endpoint: text('collector.endpoint'),
    to: [peer('collector.to', 'objects')],
    ports: ports('collector.ports'),
    traceRatio: text('collector.traceRatio'),
  },
  monitoringNamespace: text('monitoringNamespace'),
  gitops: {
    repository: mark(`${REPOSITORY}.git`, { path: 'gitops.repository', kind: 'text' }),
    revision: text('gitops.revision'),
  },
};

// longer ones first: an address is part of another
const MARKS = [...symbols.keys()].sort((a, b) => b.length - a.length);
const ANY_MARK = new RegExp(MARKS.map(each => each.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'g');

/** A text, and the fields in it. */
export function splitMarks(of: string): readonly (string | SymbolOf)[] {
  const found: (string | SymbolOf)[] = [];
  let from = 0;
  for (const { 0: is, index } of of.matchAll(ANY_MARK)) {
    if (index > from) found.push(of.slice(from, index));
    const symbol = symbols.get(is);
    if (symbol) found.push(symbol);
    from = index + is.length;
  }
  if (from < of.length || found.length === 0) found.push(of.slice(from));
  return found;
}

/** The field that the whole value stands for. */
export function wholeMark(value: unknown): SymbolOf | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return symbols.get(String(value));
}
