import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { ENV, PORTS } from '../contract/names.ts';
import { serviceKey } from '../contract/tokens.ts';

const list = z
  .string()
  .default('')
  .transform(text => text.split(/[\s,]+/).filter(item => item !== ''));

const cidrs = list.pipe(
  z.array(
    z.string().refine(text => ipaddr.isValidCIDR(text), {
      message: 'must be CIDR ranges such as 10.0.0.0/8, joined by commas',
    }),
  ),
);

const dnsServer = z.string().refine(
  text => {
    const [, host = text] = /^(?:\[(.+)\]|([0-9.]+)):[0-9]{1,5}$/.exec(text)?.filter(part => part !== undefined) ?? [];
    return isIP(host) !== 0;
  },
  { message: 'must be addresses of DNS servers such as 10.0.0.2 or 10.0.0.2:53' },
);

const seconds = (fallback: number) => z.coerce.number().positive().max(86_400).default(fallback);
const count = (fallback: number) => z.coerce.number().int().positive().default(fallback);
const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

/** What `read` makes of the text; its error becomes a fault of the variable. */
const derived = <T>(read: (text: string) => T) =>
  z.string().transform((text, context) => {
    try {
      return read(text);
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
      context.issues.push({ code: 'custom', message: `cannot be read${code}`, input: undefined });
      return z.NEVER;
    }
  });
const file = derived(path => readFileSync(path, 'utf8').trim());

/** The environment of the egress proxy. */
const schema = z.object({
  [ENV.controllerUrl]: z.url({ protocol: /^https?$/ }),
  [ENV.egressSecret]: z.string().min(32).pipe(derived(serviceKey)),
  OMICRON_EGRESS_HOST: z.string().default('0.0.0.0'),
  OMICRON_EGRESS_PORT: port(PORTS.egress),
  OMICRON_EGRESS_ADMIN_HOST: z.string().default('0.0.0.0'),
  OMICRON_EGRESS_ADMIN_PORT: port(PORTS.egressAdmin),
  /** The deployment's own ranges: VPC, pods, services, its public addresses. */
  OMICRON_EGRESS_DENIED_CIDRS: cidrs,
  /** Ranges that browsers may reach although they are internal: private deployments, tests. */
  OMICRON_EGRESS_ALLOWED_CIDRS: cidrs,
  /** DNS servers (`host[:port]`); the system's when empty. */
  OMICRON_EGRESS_DNS_SERVERS: list.pipe(z.array(dnsServer)),
  OMICRON_EGRESS_DNS_SECONDS: seconds(3),
  OMICRON_EGRESS_CONNECT_SECONDS: seconds(10),
  OMICRON_EGRESS_IDLE_SECONDS: seconds(600),
  OMICRON_EGRESS_FRESH_SECONDS: seconds(6),
  OMICRON_EGRESS_CONFIRM_SECONDS: seconds(30),
  OMICRON_EGRESS_WATCH_SECONDS: seconds(4).pipe(z.number().max(20)),
  OMICRON_EGRESS_GRACE_SECONDS: seconds(20),
  OMICRON_EGRESS_CONNECTIONS_PER_LEASE: count(512),
  OMICRON_EGRESS_BYTES_PER_LEASE: count(20 * 1024 ** 3),
  OMICRON_EGRESS_CLIENTS_MAX: count(20_000),
  OMICRON_EGRESS_UPSTREAM_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** File with `user:password` for the upstream proxy. */
  OMICRON_EGRESS_UPSTREAM_CREDENTIAL_FILE: file.optional(),
  /** File with the PEM of the authority behind an https upstream proxy. */
  OMICRON_EGRESS_UPSTREAM_CA_FILE: file.optional(),
});

export type EgressConfig = z.infer<typeof schema>;

/** Parses the environment; the error names each variable that is wrong, never its value. */
export function egressConfig(environment: NodeJS.ProcessEnv): EgressConfig {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(set);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`the environment is not complete:\n  ${faults.join('\n  ')}`);
}
