import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EgressReady } from '../contract/egress.ts';
import { type Clock, realClock } from '../http/clock.ts';
import { addressClassifier } from './address.ts';
import { addressPolicy } from './address-policy.ts';
import { adminServer } from './admin.ts';
import type { EgressConfig } from './config.ts';
import { directDialer } from './dial.ts';
import { denialReporter } from './events.ts';
import { leaseRegistry } from './lease-registry.ts';
import { egressMetrics } from './metrics.ts';
import { outboundConnections } from './outbound.ts';
import type { PolicySource } from './policy-source.ts';
import { egressProxy } from './proxy.ts';
import { dnsResolver } from './resolve.ts';
import { upstreamDialer } from './upstream.ts';

export interface RunningEgress extends EgressReady {
  /** Refuses new work, gives open connections the grace period to end, and reports pending denials. */
  stop(): Promise<void>;
}

/** Builds and starts the proxy. `source` is the controller, or a fake of it. */
export async function startEgress(
  config: Omit<EgressConfig, 'OMICRON_CONTROLLER_URL' | 'OMICRON_EGRESS_JWT_SECRET'>,
  source: PolicySource,
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void },
  clock: Clock = realClock,
): Promise<RunningEgress> {
  const ms = (seconds: number) => seconds * 1000;
  const ports: number[] = [];
  let stopping = false;
  const metrics = egressMetrics(() => leases.size);
  const leases = leaseRegistry({
    source,
    limits: {
      connectionsMax: config.OMICRON_EGRESS_CONNECTIONS_PER_LEASE,
      bytesMax: config.OMICRON_EGRESS_BYTES_PER_LEASE,
    },
    freshMs: ms(config.OMICRON_EGRESS_FRESH_SECONDS),
    confirmMs: ms(config.OMICRON_EGRESS_CONFIRM_SECONDS),
    watchMs: Math.round(ms(config.OMICRON_EGRESS_WATCH_SECONDS)),
    clock,
    onUnavailable: cause => {
      metrics.policyFailures.inc();
      log.warn({ cause: cause instanceof Error ? cause.message : 'unknown' }, 'controller call failed');
    },
  });
  const reporter = denialReporter({ source, clock, onDropped: dropped => metrics.eventsDropped.inc(dropped) });
  const addresses = addressPolicy({
    classifier: addressClassifier({
      denied: config.OMICRON_EGRESS_DENIED_CIDRS,
      allowed: config.OMICRON_EGRESS_ALLOWED_CIDRS,
    }),
    resolver: dnsResolver({
      servers: config.OMICRON_EGRESS_DNS_SERVERS.length > 0 ? config.OMICRON_EGRESS_DNS_SERVERS : undefined,
      timeoutMs: ms(config.OMICRON_EGRESS_DNS_SECONDS),
    }),
    ownPorts: () => ports,
    onLookup: seconds => metrics.lookupSeconds.observe(seconds),
  });
  const timeoutMs = ms(config.OMICRON_EGRESS_CONNECT_SECONDS);
  const upstream = config.OMICRON_EGRESS_UPSTREAM_URL;
  const dialer = upstream
    ? upstreamDialer(
        {
          url: new URL(upstream),
          credential: config.OMICRON_EGRESS_UPSTREAM_CREDENTIAL_FILE,
          ca: config.OMICRON_EGRESS_UPSTREAM_CA_FILE,
        },
        { timeoutMs },
      )
    : directDialer({ timeoutMs });
  const proxy = egressProxy({
    outbound: outboundConnections({
      leases,
      addresses,
      dialer,
      reporter,
      metrics,
      idleMs: ms(config.OMICRON_EGRESS_IDLE_SECONDS),
    }),
    clientsMax: config.OMICRON_EGRESS_CLIENTS_MAX,
    onBug: cause => log.error({ err: cause }, 'unexpected error'),
  });
  const admin = adminServer(metrics.registry, () => !stopping);

  const adminPort = await listen(admin, config.OMICRON_EGRESS_ADMIN_HOST, config.OMICRON_EGRESS_ADMIN_PORT);
  const { port } = await proxy.listen(config.OMICRON_EGRESS_HOST, config.OMICRON_EGRESS_PORT);
  ports.push(port, adminPort);
  leases.start();
  reporter.start();

  return {
    port,
    adminPort,
    async stop() {
      stopping = true;
      await proxy.stop(ms(config.OMICRON_EGRESS_GRACE_SECONDS));
      await leases.stop();
      await reporter.stop();
      admin.closeAllConnections();
      await new Promise(done => admin.close(done));
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((listening, failed) => {
    server.once('error', failed);
    server.listen(port, host, () => listening((server.address() as AddressInfo).port)); // a TCP server that listens has one
  });
}
