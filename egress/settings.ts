import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import * as z from 'zod';
import { ENV, PORTS } from '../contract/names.ts';
import { serviceKey } from '../contract/tokens.ts';
import {
  decimal,
  derivedSetting,
  httpUrl,
  integer,
  parseEnvironment,
  portSchema,
  type SettingsOf,
  wordsSchema,
} from '../process/environment.ts';
import { cidrsSchema } from './cidrs.ts';

const dnsServer = z.string().refine(
  text => {
    const [, host = text] = /^(?:\[(.+)\]|([0-9.]+)):[0-9]{1,5}$/.exec(text)?.filter(part => part !== undefined) ?? [];
    return isIP(host) !== 0;
  },
  { error: 'must be addresses of DNS servers such as 10.0.0.2 or 10.0.0.2:53' },
);

const secondsSchema = (fallback: number, max = 86_400) => decimal(0.001, max).default(fallback);
const countSchema = (fallback: number) => integer(1, Number.MAX_SAFE_INTEGER).default(fallback);
const fileSchema = () => derivedSetting('a file that can be read', path => readFileSync(path, 'utf8').trim());

/** The settings of the egress proxy. */
export const EGRESS_SETTINGS = {
  /** The controller as the proxy reaches it. */
  controllerUrl: [ENV.controllerUrl, httpUrl()],
  /** HS256 secret shared with the controller alone. */
  egressKey: [ENV.egressSecret, derivedSetting('a secret of at least 32 bytes', serviceKey)],
  /** Address on which it listens for browsers. */
  host: [ENV.egressHost, z.string().default('0.0.0.0')],
  /** Port on which it listens for browsers: HTTP and CONNECT. */
  port: [ENV.egressPort, portSchema().default(PORTS.egress)],
  /** Address of health and metrics. */
  adminHost: [ENV.egressAdminHost, z.string().default('0.0.0.0')],
  /** Port of health and metrics. */
  adminPort: [ENV.egressAdminPort, portSchema().default(PORTS.egressAdmin)],
  /** Ranges that are refused besides the private ones: the deployment's VPC, pods, services and public addresses. */
  deniedCidrs: [ENV.egressDeniedCidrs, cidrsSchema()],
  /** Internal ranges that browsers may reach all the same: private deployments, tests. */
  allowedCidrs: [ENV.egressAllowedCidrs, cidrsSchema()],
  /** DNS servers (`host[:port]`); by default the system's. */
  dnsServers: [ENV.egressDnsServers, wordsSchema().pipe(z.array(dnsServer))],
  /** Seconds for one lookup of a name. */
  dnsSeconds: [ENV.egressDnsSeconds, secondsSchema(3)],
  /** Seconds for a connection to a site. */
  connectSeconds: [ENV.egressConnectSeconds, secondsSchema(10)],
  /** Seconds that a client may take for the head of a request, its credential included. */
  headSeconds: [ENV.egressHeadSeconds, secondsSchema(10, 60)],
  /** Seconds without a byte after which a connection is closed. */
  idleSeconds: [ENV.egressIdleSeconds, secondsSchema(600)],
  /**
   * A new connection needs a lease that was confirmed within this many seconds; otherwise the controller is asked
   * first.
   */
  freshSeconds: [ENV.egressFreshSeconds, secondsSchema(6)],
  /** Open connections are closed when their lease was not confirmed for this many seconds. */
  confirmSeconds: [ENV.egressConfirmSeconds, secondsSchema(30)],
  /** Seconds that one watch of the leases may wait at the controller; keep it below `OMICRON_EGRESS_FRESH_SECONDS`. */
  watchSeconds: [ENV.egressWatchSeconds, secondsSchema(4, 20)],
  /** Seconds that open connections have when the proxy stops. */
  graceSeconds: [ENV.egressGraceSeconds, secondsSchema(20)],
  /** Connections that one lease may have open. */
  connectionsPerLease: [ENV.egressConnectionsPerLease, countSchema(512)],
  /** Bytes that one lease may transfer, both ways together. */
  bytesPerLease: [ENV.egressBytesPerLease, countSchema(20 * 1024 ** 3)],
  /** Connections of clients, all leases together; those without a lease have places of their own. */
  clientsMax: [ENV.egressClientsMax, countSchema(20_000)],
  /**
   * Leases that this proxy serves. Each browser's connections reach every replica, and a runner's browser and its uploader count
   * apart: twice the deployment's runners are enough.
   */
  leasesMax: [ENV.egressLeasesMax, integer(1, 100_000).default(12_000)],
  /** The deployment's own proxy, through which all connections go. */
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
