import { RunError } from '@pulumi/pulumi/errors.js';
import { z } from 'zod';
import { architectureOf } from './architecture.ts';
import { parseCidr, rangesOverlap } from './cidr.ts';

export const PROJECT = 'omicron-browser';

/** Addresses of Kubernetes Services. Fixed: EKS cannot change them later, and the egress proxy refuses this range. */
export const SERVICE_CIDR = '172.20.0.0/16';

const cidr = z
  .string()
  .refine(text => parseCidr(text), { error: 'expected an IPv4 range such as 10.40.0.0/16', abort: true });

// A range wider than /8 is practically the internet.
const namedCidr = cidr.refine(text => (parseCidr(text)?.prefix ?? 0) >= 8, 'expected a range of /8 or narrower');

// IAM's own alphabet for names and paths: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const roleName = z
  .string()
  .regex(
    /^[\w+=,.@-]+(\/[\w+=,.@-]+)*$/,
    'expected the name of an IAM role of this account, with its path, without arn:',
  );

const count = (max: number) => z.number().int().min(0).max(max);
const days = (max: number) => z.number().int().min(1).max(max);

// The steps that CloudWatch Logs accepts:
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
const logDays = z.union([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365].map(step => z.literal(step)));

const instanceType = z
  .string()
  .regex(/^[a-z][a-z0-9-]*\.[a-z0-9-]+$/, 'expected an EC2 instance type such as m6a.2xlarge');

const nodes = {
  min: count(100),
  max: count(100).min(1),
  /** Size of the root volume: images, logs and, on browser nodes, the recordings until they are uploaded. */
  diskGiB: z.number().int().min(30).max(1000),
};

const minBelowMax = (group: { min: number; max: number }): boolean => group.min <= group.max;
const MIN_BELOW_MAX = { message: 'expected min to be at most max', path: ['min'] };

const network = z
  .strictObject({
    cidr: cidr.refine(text => {
      const prefix = parseCidr(text)?.prefix ?? 0;
      return prefix >= 16 && prefix <= 20;
    }, 'expected a prefix from /16 to /20'),
    /** Three availability zones by name, so that a zone that AWS adds later does not move a subnet. */
    zones: z.array(z.string()).length(3),
    natGateways: z.enum(['one', 'per-zone']),
    /** In how many of the zones each interface endpoint has an address; each costs some 8 dollars a month. */
    endpointZones: z.number().int().min(1).max(3),
    logDays,
  })
  .refine(({ zones }) => new Set(zones).size === zones.length, {
    message: 'expected three different zones',
    path: ['zones'],
  })
  .refine(
    ({ cidr: text }) => {
      const [vpc, services] = [parseCidr(text), parseCidr(SERVICE_CIDR)];
      return !vpc || !services || !rangesOverlap(vpc, services);
    },
    { message: `expected a range apart from ${SERVICE_CIDR}, which holds the Services`, path: ['cidr'] },
  );

/** The configuration of a stack. Each key is in `Pulumi.<stack>.yaml` as `omicron-browser:<key>`. */
const schema = z.strictObject({
  network,
  cluster: z.strictObject({
    version: z.string().regex(/^1\.\d{2}$/, 'expected a Kubernetes version such as "1.35", in quotes'),
    /** Addresses that may reach the API server from outside the VPC; an empty list closes the public endpoint. */
    publicAccessCidrs: z.array(namedCidr),
    /** Administrators of the cluster, except the role that creates it, for which EKS makes an entry itself. */
    adminRoles: z.array(roleName),
    viewerRoles: z.array(roleName),
    logDays,
  }),
  systemNodes: z
    .strictObject({
      ...nodes,
      min: nodes.min.min(1),
      instanceTypes: z
        .array(instanceType)
        .min(1)
        .refine(
          types => new Set(types.map(architectureOf)).size <= 1,
          'expected types of one architecture, since a node group has one image for its nodes',
        ),
    })
    .refine(minBelowMax, MIN_BELOW_MAX),
  browserNodes: z
    .strictObject({
      ...nodes,
      /** Graviton and others may be mixed: each architecture has node groups of its own, with `min` and `max` of its own. */
      instanceTypes: z.array(instanceType).min(1),
      /** Share of `max` that are spot instances. */
      spotPercent: z.number().int().min(0).max(100),
      /**
       * Pods of a node at most, by which the kubelet reserves memory. Without it that is what the instance's network interfaces allow,
       * 2.8 GiB for 234 pods. EKS itself allows 110 on less than 30 vCPU, and 250 on others.
       */
      podsMax: z.number().int().min(10).max(250),
      /** Processes and threads that one pod may have, so that a fork bomb affects only its own pod. */
      podPidsMax: z.number().int().min(256).max(16384),
    })
    .refine(minBelowMax, MIN_BELOW_MAX)
    .refine(({ spotPercent, max }) => spotPercent % 100 === 0 || max > 1, {
      message: 'expected 0 or 100, since a share needs at least two nodes',
      path: ['spotPercent'],
    }),
  artifacts: z.strictObject({
    /** Days after which a recording is deleted (O15). */
    retentionDays: days(365),
    /** Days after which what was kept of a page is deleted. */
    pagesRetentionDays: days(365),
    /** Roles that may assume the one that reads recordings. */
    readerRoles: z.array(roleName).min(1),
    /** Whether the controller may read recordings too, and so hand them to those who may read their session. */
    replay: z.boolean(),
  }),
  gitops: z.strictObject({
    repository: z.url({
      protocol: /^(https|oci)$/,
      error: 'expected the https URL of the git repository that Argo CD reads, or the oci URL of an artifact',
    }),
    revision: z.string().min(1),
  }),
  /** Refuse to delete what cannot be recreated: the bucket, its key, the cluster. */
  protect: z.boolean(),
});

export type StackConfig = z.infer<typeof schema> & { readonly env: string; readonly region: string };

/** Name of an environment; part of AWS names whose length is limited. */
const environment = /^[a-z][a-z0-9-]{0,11}$/;
const regionName = /^[a-z]{2}(-[a-z]+)+-\d$/;

/**
 * Parses the configuration of one stack as `pulumi config` holds it: keys such as `omicron-browser:network`, values
 * as JSON text. Throws a RunError, which Pulumi prints without a stack trace, with one line for each wrong value.
 */
export function parseConfig(env: string, values: Readonly<Record<string, string>>): StackConfig {
  const prefix = `${PROJECT}:`;
  const raw = Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, text]) => [key.slice(prefix.length), decode(text)]),
  );
  const region = values['aws:region'] ?? '';
  const parsed = schema.safeParse(raw);
  const wrong = (parsed.error?.issues ?? []).flatMap(issue => explain(issue, raw));
  if (!environment.test(env)) wrong.push(`stack name: expected up to 12 of a-z, 0-9 and -, got ${JSON.stringify(env)}`);
  if (!regionName.test(region))
    wrong.push(`aws:region: expected a region such as eu-central-1, got ${JSON.stringify(region)}`);
  const stray = parsed.data?.network.zones.filter(zone => !zone.startsWith(region)) ?? [];
  if (stray.length > 0) wrong.push(`${prefix}network.zones: expected zones of ${region}, got ${JSON.stringify(stray)}`);
  if (!parsed.data || wrong.length > 0) {
    throw new RunError([`Invalid configuration in Pulumi.${env}.yaml:`, ...wrong.map(line => `  ${line}`)].join('\n'));
  }
  return { ...parsed.data, env, region };
}

/** The CLI passes objects as JSON and strings as they are. */
function decode(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function explain(issue: z.core.$ZodIssue, raw: unknown): string[] {
  const at = (path: readonly PropertyKey[]): string => `${PROJECT}:${path.map(String).join('.')}`;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(key => `${at([...issue.path, key])}: no such key; remove it or correct its name`);
  }
  const value = issue.path.reduce<unknown>((node, key) => (isObject(node) ? node[String(key)] : undefined), raw);
  const got = value === undefined ? 'it is missing' : `got ${JSON.stringify(value)}`;
  return [`${at(issue.path)}: ${issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '')}, ${got}`];
}

const isObject = (node: unknown): node is Record<string, unknown> => typeof node === 'object' && node !== null;
