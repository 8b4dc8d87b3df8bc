import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { ENV, PORTS } from '../contract/names.ts';
import { serviceKey } from '../contract/tokens.ts';
import {
  decimal,
  derived,
  httpUrl,
  integer,
  parseEnvironment,
  portSchema,
  type SettingsOf,
  wordsSchema,
} from '../process/environment.ts';

const cidrsSchema = () =>
  wordsSchema().pipe(
    z.array(
      z.string().refine(text => ipaddr.isValidCIDR(text), {
        error: 'must be CIDR ranges such as 10.0.0.0/8, joined by commas',
      }),
    ),
  );

const dnsServer = z.string().refine(
  text => {
    const [, host = text] = /^(?:\[(.+)\]|([0-9.]+)):[0-9]{1,5}$/.exec(text)?.filter(part => part !== undefined) ?? [];
    return isIP(host) !== 0;
  },
  { error: 'must be addresses of DNS servers such as 10.0.0.2 or 10.0.0.2:53' },
);

const secondsSchema = (fallback: number, max = 86_400) => decimal(0.001, max).default(fallback);
const countSchema = (fallback: number) => integer(1, Number.MAX_SAFE_INTEGER).default(fallback);
const fileSchema = () => derived('a file that can be read', path => readFileSync(path, 'utf8').trim());

/** The settings of the egress proxy. */
export const EGRESS_SETTINGS = {
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  egressKey: [ENV.egressSecret, derived('a secret of at least 32 bytes', serviceKey)],
  host: [ENV.egressHost, z.string().default('0.0.0.0')],
  port: [ENV.egressPort, portSchema().default(PORTS.egress)],
  adminHost: [ENV.egressAdminHost, z.string().default('0.0.0.0')],
  adminPort: [ENV.egressAdminPort, portSchema().default(PORTS.egressAdmin)],
  /** The deployment's own ranges: VPC, pods, services, its public addresses. */
  deniedCidrs: [ENV.egressDeniedCidrs, cidrsSchema()],
  /** Ranges that browsers may reach although they are internal: private deployments, tests. */
  allowedCidrs: [ENV.egressAllowedCidrs, cidrsSchema()],
  /** DNS servers (`host[:port]`); the system's when empty. */
  dnsServers: [ENV.egressDnsServers, wordsSchema().pipe(z.array(dnsServer))],
  dnsSeconds: [ENV.egressDnsSeconds, secondsSchema(3)],
  connectSeconds: [ENV.egressConnectSeconds, secondsSchema(10)],
  /** How long a client may take for the head of a request, its credential included. */
  headSeconds: [ENV.egressHeadSeconds, secondsSchema(10, 60)],
  idleSeconds: [ENV.egressIdleSeconds, secondsSchema(600)],
  freshSeconds: [ENV.egressFreshSeconds, secondsSchema(6)],
  confirmSeconds: [ENV.egressConfirmSeconds, secondsSchema(30)],
  watchSeconds: [ENV.egressWatchSeconds, secondsSchema(4, 20)],
  graceSeconds: [ENV.egressGraceSeconds, secondsSchema(20)],
  connectionsPerLease: [ENV.egressConnectionsPerLease, countSchema(512)],
  bytesPerLease: [ENV.egressBytesPerLease, countSchema(20 * 1024 ** 3)],
  /** Client connections of all leases; those without a lease have places of their own. */
  clientsMax: [ENV.egressClientsMax, countSchema(20_000)],
  upstreamUrl: [ENV.egressUpstreamUrl, httpUrl().optional()],
  /** File with `user:password` for the upstream proxy. */
  upstreamCredential: [ENV.egressUpstreamCredentialFile, fileSchema().optional()],
  /** File with the PEM of the authority behind an https upstream proxy. */
  upstreamCa: [ENV.egressUpstreamCaFile, fileSchema().optional()],
} as const;

export type EgressSettings = SettingsOf<typeof EGRESS_SETTINGS>;

/** Reads the egress proxy's environment. Throws EnvironmentError. */
export const parseEgressSettings = (environment: Readonly<Record<string, unknown>>): EgressSettings =>
  parseEnvironment('egress proxy', EGRESS_SETTINGS, environment);
