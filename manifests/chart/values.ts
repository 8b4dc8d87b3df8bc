import * as z from 'zod';
import { API_NAMESPACES, ARCHITECTURES } from '../../contract/names.ts';
import { PROGRAM_SETTINGS } from '../check-settings.ts';
import type { Environment } from '../environment-type.ts';
import { ENVIRONMENTS } from '../environments.ts';
import { renderObjects } from '../render.ts';
import type { PROGRAMS } from './objects.ts';
import { MARKED } from './symbols.ts';

/** Goes into texts that are quoted already. */
const word = z.string().regex(/^[^"\\\s]+$/);
const url = z.string().regex(/^https?:\/\/[^"\\\s]+$/);
/** Without a name, a password or a query, which may be a key: docs/operations.md, "Traces". */
const collectorUrl = z.string().regex(/^https?:\/\/[^"\\\s@?#]+$/);
const source = z.string().regex(/^(https?|oci):\/\/[^"\\\s]+$/);
const cidr = z.string().regex(/^\d{1,3}(\.\d{1,3}){3}\/\d{1,2}$/);
const address = z.string().regex(/^\d{1,3}(\.\d{1,3}){3}$/);
const ports = z.array(z.int().min(1).max(65_535)).min(1);
const selector = z.looseObject({});
const peer = z.strictObject({
  ipBlock: z.strictObject({ cidr, except: z.array(cidr).optional() }).optional(),
  namespaceSelector: selector.optional(),
  podSelector: selector.optional(),
});
const peers = z.array(peer).min(1);
const reached = z.strictObject({ to: peers, ports });
const collector = z.strictObject({
  endpoint: collectorUrl,
  to: peers,
  ports,
  traceRatio: z
    .string()
    .regex(/^(0(\.\d+)?|1)$/)
    .optional(),
});
const cores = z.string().regex(/^[1-9]\d*m?$/);
const bytes = z.string().regex(/^[1-9]\d*[MG]i$/);
const two = <T extends z.ZodType>(of: T) => z.tuple([of, of]);
const resources = z.strictObject({ cpu: two(cores), memory: two(bytes), ephemeralStorage: two(bytes) });
const from = (min: number, max: number) => z.int().min(min).max(max);

/** Variables that an environment may set besides, and that the chart does not set already. */
const further = (program: keyof typeof PROGRAMS, set: ReadonlySet<string>) =>
  z.strictObject(
    Object.fromEntries(
      Object.values(PROGRAM_SETTINGS[program])
        .map(([name]) => name)
        .filter(name => !set.has(name) && mayBeSet(program, name))
        .sort()
        .map(name => [name, z.string().optional()]),
    ),
  );

/** Rendering refuses what a Secret holds, and what other manifests rely on. */
function mayBeSet(program: keyof typeof PROGRAMS, name: string): boolean {
  try {
    renderObjects({ ...MARKED, settings: { [program]: { [name]: '' } } });
    return true;
  } catch {
    return false;
  }
}

/** Values of the chart: the fields of an Environment. `set`: variables that its manifests set, by program. */
export const chartValues = (set: Readonly<Record<keyof typeof PROGRAMS, ReadonlySet<string>>>) =>
  z.strictObject({
    global: z.looseObject({}).optional(), // Helm's own
    name: z.string().regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/),
    podSecurityVersion: z.string().regex(/^(latest|v1\.\d+)$/),
    images: z.strictObject({ controller: word, runner: word, egress: word, console: word, pause: word }),
    signedImages: z
      .strictObject({
        publicKey: z.string().regex(/^-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/=\n]+-----END PUBLIC KEY-----\n?$/),
        registryProvider: z.enum(['amazon', 'azure', 'google', 'github']).optional(),
      })
      .optional(),
    apiNamespace: z.enum(API_NAMESPACES),
    clusterIps: z.strictObject({ controller: address, egress: address }),
    apiServer: z.strictObject({ cidrs: z.array(cidr).min(1), ports }),
    database: z.strictObject({ to: peers, ports, tls: z.literal('off').optional(), ca: z.string().optional() }),
    controllerReachesPublicHttps: z.boolean(),
    ownCidrs: z.array(cidr).min(1),
    privateSites: z.strictObject({ cidrs: z.array(cidr), peers: z.array(peer) }),
    roles: z.strictObject({ uploader: word, controller: word }).optional(),
    artifacts: z.strictObject({
      bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]*$/),
      region: word,
      endpoints: z.strictObject({ s3: url.optional(), sts: url.optional() }),
      webIdentityRole: word.optional(),
    }),
    profiles: z.strictObject({
      keyArn: word.optional(),
      endpoints: reached,
      hibernation: z.strictObject({ when: z.enum(['node', 'expiry']), keptHours: from(1, 8_760) }).optional(),
    }),
    gateway: z
      .strictObject({
        url,
        issuer: url,
        audience: word.optional(),
        userClaim: word.optional(),
        toolset: word.optional(),
        liveUrl: url.optional(),
        from: peer,
      })
      .optional(),
    console: z
      .strictObject({
        url,
        ingress: z.strictObject({
          className: word.optional(),
          annotations: z.record(z.string(), z.string()).optional(),
          tlsSecret: word.optional(),
          from: peer,
        }),
        oidc: z.strictObject({ issuer: url, clientId: word }).optional(),
        platform: z.strictObject({ issuer: url }).optional(),
        identityProvider: peers.optional(),
        claims: z
          .strictObject({
            user: word.optional(),
            role: word.optional(),
            roleWithout: z.enum(['viewer', 'operator', 'admin', 'none']).optional(),
          })
          .optional(),
        embedOrigins: z.array(url).optional(),
      })
      .optional(),
    replicas: z.strictObject({ controller: from(1, 100), egress: from(1, 100) }),
    runner: z.strictObject({
      browser: resources,
      uploader: resources,
      keepPages: z.enum(['none', 'last', 'calls']).optional(),
      keepFiles: z.enum(['none', 'all']).optional(),
      insecureLoginOrigins: z.array(url).optional(),
      mcpOrigins: z.array(url).optional(),
      architecture: z.enum(ARCHITECTURES).optional(),
      runtimeClassName: word.optional(),
    }),
    spareRunners: from(0, 10_000),
    limits: z.strictObject({
      capacity: from(1, 100_000),
      userLimit: from(1, 10_000),
      poolIdle: from(0, 1_000),
      poolBurst: from(1, 100),
      maxSessionMinutes: from(1, 10_080),
      retentionDays: from(1, 3_650),
      pagesRetentionDays: from(1, 3_650),
    }),
    logLevel: z.enum(['info', 'debug']),
    settings: z
      .strictObject({
        controller: further('controller', set.controller).optional(),
        egress: further('egress', set.egress).optional(),
        console: further('console', set.console).optional(),
      })
      .optional(),
    secretStore: z.enum(['vault-sql', 'vault-rest', 'vault-kv']),
    vault: reached.optional(),
    collector: collector.optional(),
    monitoringNamespace: word.optional(),
    gitops: z.strictObject({ repository: source, revision: word }),
  });

export type ChartValues = z.infer<ReturnType<typeof chartValues>>;
// A value that the chart takes is one that an environment may have.
export type _ = ChartValues extends Omit<Environment, 'name' | 'settings'> ? true : never;

/** The values with which the chart renders the objects of an environment. */
export const valuesOf = (env: Environment): unknown => JSON.parse(JSON.stringify(env));

/** Values that the chart has unless others are given: those of `prod` that do not describe its cluster. */
export function defaultValues(): unknown {
  const { podSecurityVersion, replicas, runner, limits, logLevel, secretStore, gitops, images } = ENVIRONMENTS.prod;
  return {
    podSecurityVersion,
    images: { pause: images.pause },
    controllerReachesPublicHttps: true,
    privateSites: { cidrs: [], peers: [] },
    replicas,
    runner,
    spareRunners: 0,
    limits,
    logLevel,
    secretStore,
    gitops,
  };
}
