import * as z from 'zod';
import { leaseKey, runnerId } from './lease-key.ts';
import { ENV } from './names.ts';
import { DEFAULT_PORTS, POLICY_LAYERS, siteRules } from './policy/sites.ts';
import { spanId, traceId } from './trace-ids.ts';

/**
 * Every call below carries `Authorization: Bearer`: HS256 under `OMICRON_EGRESS_JWT_SECRET`, audience
 * `egress-authorize`.
 */
export const EGRESS_ROUTES = {
  authorize: '/internal/egress/authorize',
  watch: '/internal/egress/leases/watch',
  events: '/internal/egress/events',
} as const;

export const EGRESS_CLIENTS = ['browser', 'uploader'] as const;
export type EgressClient = (typeof EGRESS_CLIENTS)[number];
const client = z
  .enum(EGRESS_CLIENTS)
  .default('browser')
  .describe("Process of the runner's pod, each with its own credential; the proxy keeps them apart.");

/** The site rules of a live lease, or of an uploader whose videos are awaited. */
export const egressGrant = leaseKey.extend({
  client,
  version: z.string().min(1).max(128).describe('Version of the policy; it changes with any layer.'),
  remaining_ms: z
    .int()
    .min(0)
    .describe(
      "Milliseconds until the lease or the uploader's time ends, by the database's clock, counted from before the request was sent.",
    ),
  layers: z
    .array(
      z.object({
        layer: z.enum(POLICY_LAYERS).describe('Layer whose rules they are.'),
        sites: siteRules.describe('Site rules of the layer.'),
      }),
    )
    .max(POLICY_LAYERS.length + 1) // presets are a second one of the session
    .describe('Site rules by layer; layers without site rules may be left out.'),
});
export type EgressGrant = z.infer<typeof egressGrant>;

/** Body of `POST /internal/egress/authorize`. */
export const authorizeRequest = z
  .strictObject({
    runner_id: runnerId,
    credential: z
      .string()
      .min(1)
      .max(512)
      .describe('Credential that the client showed to the proxy; compared in constant time.'),
  })
  .meta({ id: 'EgressAuthorizeRequest' });

export const authorizeAnswer = z
  .discriminatedUnion('state', [
    z.object({
      state: z.literal('granted').describe('The credential is that of a live lease or its uploader.'),
      grant: egressGrant.describe('Rights of the client.'),
    }),
    z.object({
      state: z.literal('refused').describe('A refusal is an expected outcome and does not say which part was wrong.'),
    }),
  ])
  .meta({ id: 'EgressAuthorizeAnswer' });

/** Leases of one watch; a proxy with more watches them in several. */
export const WATCH_LEASES_MAX = 2000;
/** Below the 30 s after which load balancers and meshes cut an idle call. */
export const WATCH_WAIT_MS_MAX = 20_000;

/**
 * Body of `POST /internal/egress/leases/watch`: the leases that the proxy serves and what it knows of each. The
 * controller answers at once when any of them has ended or has another version, else after `wait_ms`. There is no
 * cursor: each call compares with the rows as they are, so no change can be missed, whichever replica answers.
 */
export const watchRequest = z
  .strictObject({
    wait_ms: z.int().min(0).max(WATCH_WAIT_MS_MAX).describe('Milliseconds that the call may wait for a change.'),
    leases: z
      .array(
        leaseKey.extend({
          client,
          version: z.string().max(128).describe('Version of the policy that the proxy knows.'),
        }),
      )
      .max(WATCH_LEASES_MAX)
      .describe('Leases that the proxy serves.'),
  })
  .meta({ id: 'EgressWatchRequest' });
export type WatchRequest = z.infer<typeof watchRequest>;

export const watchAnswer = z
  .object({
    leases: z
      .array(
        z.discriminatedUnion('state', [
          z.object({
            state: z.literal('unchanged').describe('The version is the same.'),
            runner_id: runnerId,
            client,
            remaining_ms: z.int().describe('Milliseconds until the end, counted from before the request was sent.'),
          }),
          z.object({
            state: z.literal('changed').describe('The policy has another version.'),
            runner_id: runnerId,
            client,
            grant: egressGrant.describe('Rights of the client from now on.'),
          }),
          z.object({ state: z.literal('ended').describe('The lease has ended.'), runner_id: runnerId, client }),
        ]),
      )
      .describe('One entry for each lease of the request; a missing entry means that the lease has ended.'),
  })
  .meta({ id: 'EgressWatchAnswer' });
export type WatchAnswer = z.infer<typeof watchAnswer>;

/** Address classes, as events and metrics name them; only `public` is dialled. */
export const ADDRESS_CLASSES = [
  'loopback',
  'private',
  'link_local',
  'shared',
  'metadata',
  'unspecified',
  'multicast',
  'documentation',
  'benchmark',
  'reserved',
  'transition',
  'deployment',
  'self',
  'public',
] as const;
export type AddressClass = (typeof ADDRESS_CLASSES)[number];

/** Why the proxy answered itself: `x-omicron-refusal` of the answer, `code` of the event. */
export const REFUSALS = {
  bad_request: { status: 400, sentence: 'The request was malformed, so the proxy did not pass it on.' },
  credential_refused: { status: 407, sentence: 'The egress proxy does not know this runner or its lease has ended.' },
  site_denied: { status: 403, sentence: 'A policy denies this site.' },
  site_not_allowed: { status: 403, sentence: 'A policy allows other sites only.' },
  https_only: { status: 403, sentence: 'A policy allows encrypted connections only; use https.' },
  port_refused: { status: 403, sentence: 'No policy opens this port to browsers.' },
  internal_name: { status: 403, sentence: 'This name belongs to an internal network, which browsers may not reach.' },
  internal_address: { status: 403, sentence: 'This address belongs to a network that browsers may not reach.' },
  secret_in_name: { status: 403, sentence: 'The name of this host holds a password of the session.' },
  client_certificate_refused: {
    status: 502,
    sentence:
      'The site ended the connection after it was shown the client certificate that is stored for it; the manager of its credentials can store another.',
  },
  certificate_untrusted: {
    status: 502,
    sentence:
      'The certificate of the site is not trusted, so the client certificate that is stored for it was not used; a person who runs this deployment can have its authority trusted (OMICRON_CHROMIUM_CA).',
  },
  mixed_addresses: { status: 403, sentence: 'This name also resolves to a network that browsers may not reach.' },
  too_many_connections: {
    status: 429,
    sentence: 'The session has too many open connections; close some tabs and try again.',
  },
  proxy_full: {
    status: 503,
    sentence: 'The egress proxy has no connection to spare; close some tabs and try again.',
  },
  leases_full: {
    status: 503,
    sentence:
      'The egress proxy serves as many leases as OMICRON_EGRESS_LEASES_MAX allows; try again when others have ended.',
  },
  bytes_exhausted: { status: 403, sentence: 'The session has used up its traffic allowance.' },
  name_not_found: { status: 502, sentence: 'No such host: the name does not exist or has no address.' },
  dns_failed: { status: 502, sentence: 'The name could not be looked up; try again.' },
  dns_timeout: { status: 504, sentence: 'Looking the name up took too long; try again.' },
  connect_failed: { status: 502, sentence: 'The site refused the connection or cannot be reached.' },
  connect_timeout: { status: 504, sentence: 'The site did not accept the connection in time; try again.' },
  upstream_failed: {
    status: 502,
    sentence: 'The site closed the connection or sent an answer that could not be read.',
  },
  upstream_timeout: { status: 504, sentence: 'The site did not answer in time; try again.' },
  policy_unavailable: {
    status: 503,
    sentence: 'The policies of this session cannot be read now, so nothing is let through; try again.',
  },
  shutting_down: { status: 503, sentence: 'This egress proxy is stopping; try again.' },
} as const satisfies Record<string, { status: number; sentence: string }>;
export type RefusalCode = keyof typeof REFUSALS;

/** The site or its name failed; the proxy would have let the request through. */
const FAILURES: readonly string[] = [
  'name_not_found',
  'dns_failed',
  'dns_timeout',
  'connect_failed',
  'connect_timeout',
  'upstream_failed',
  'upstream_timeout',
] satisfies readonly RefusalCode[];

export const isSiteFailure = (code: string): boolean => FAILURES.includes(code);

const OWN_MACHINE = /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[?::1\]?)$/;
/** Whether the host of a URL is the machine of the runner itself. */
export const isOwnMachine = (host: string): boolean => OWN_MACHINE.test(host);

/**
 * Both settings that open a site of the machine itself on a local stack, for a refusal of one: after one setting alone, the other
 * check would refuse. Undefined for other sites and codes.
 */
export function describeOwnMachineSettings(code: string, host: string, port: number): string | undefined {
  const isOfAddress = ['port_refused', 'internal_name', 'internal_address'].includes(code);
  if (!isOfAddress || !isOwnMachine(host)) return undefined;
  const range = host.includes(':') ? '::1/128' : host.startsWith('127.') ? `${host}/32` : '127.0.0.1/32';
  const start = `start it with ${ENV.egressAllowedCidrs}=${range}`;
  if (DEFAULT_PORTS.some(open => open === port))
    return `To open a site of the machine itself on a local stack, ${start}.`;
  const policy = JSON.stringify({ version: 1, sites: { ports: [...DEFAULT_PORTS, port] } });
  return `To open a site of the machine itself on a local stack, ${start}, and open its port by a policy: ${policy}.`;
}

/** The span below which a connection is, from a runner's forwarder. As every `Proxy-*` header it ends at the proxy. */
export const PROXY_TRACEPARENT = 'proxy-traceparent';

/** Header of every answer of the proxy itself; sites cannot set it. */
export const REFUSAL_HEADER = 'x-omicron-refusal';

/** Refusals that a policy or an address rule decided; they are in the timeline (kind `egress.denied`). */
export const DENIALS = [
  'site_denied',
  'site_not_allowed',
  'https_only',
  'port_refused',
  'internal_name',
  'internal_address',
  'mixed_addresses',
  'too_many_connections',
  'bytes_exhausted',
] as const satisfies readonly RefusalCode[];
export type DenialCode = (typeof DENIALS)[number];

const egressDenial = leaseKey
  .extend({
    id: z.uuid().describe('Id that the proxy chooses; a repeated report is written once.'),
    code: z.enum(DENIALS).describe('Rule that refused the request.'),
    method: z.enum(['connect', 'http', 'upgrade']).describe('Way in which the proxy was asked.'),
    host: z
      .string()
      .max(255)
      .describe('Host of the request. Paths and queries are not reported: they may contain secrets.'),
    port: z.int().min(0).max(65_535).describe('Port of the request.'),
    address_class: z
      .enum(ADDRESS_CLASSES)
      .nullable()
      .describe('Class of the address that was refused; null: no address decided.'),
    rule: z.string().max(300).nullable().describe('Pattern of the policy that decided; null: none did.'),
    layer: z.enum(POLICY_LAYERS).nullable().describe('Layer of the policy that decided; null: none did.'),
    count: z.int().min(1).describe('Number of equal denials.'),
    trace_id: traceId.optional().describe('Trace of the call that opened the first of them, where it is traced.'),
    span_id: spanId.optional().describe("The connection's span."),
    age_ms: z.number().min(0).describe('Milliseconds between the first of them and this report.'),
  })
  .strict();
export type EgressDenial = z.infer<typeof egressDenial>;

const moreDenials = leaseKey
  .extend({
    id: z.uuid().describe('Id that the proxy chooses; a repeated report is written once.'),
    code: z
      .literal('more_denials')
      .describe('Denials without a line of their own, because the lease had used up its lines of the minute.'),
    count: z.int().min(1).describe('Number of these denials.'),
    age_ms: z.number().min(0).describe('Milliseconds between the first of them and this report.'),
  })
  .strict();

/** One line of a timeline (kind `egress.denied`). */
export const egressEvent = z.discriminatedUnion('code', [egressDenial, moreDenials]);
export type EgressEvent = z.infer<typeof egressEvent>;

/**
 * Body of `POST /internal/egress/events`; 202 or 204 when written.
 */
export const egressEventReport = z
  .strictObject({
    events: z.array(egressEvent).min(1).max(100).describe('Denials; those of leases that have ended are written too.'),
  })
  .meta({ id: 'EgressEventReport' });

/** Message that the proxy's process sends to the process that forked it, once it listens. */
export const egressReady = z.object({ port: z.int(), adminPort: z.int() });
export type EgressReady = z.infer<typeof egressReady>;
