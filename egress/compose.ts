import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EgressReady } from '../contract/egress.ts';
import { adminServer } from '../http/admin-server.ts';
import type { MetricFamily } from '../process/metric-export.ts';
import { type Clock, realClock } from '../time/clock.ts';
import { addressClassifier } from './address.ts';
import { addressPolicy } from './address-policy.ts';
import { ClientPlaces } from './client-places.ts';
import { directDialer } from './dial.ts';
import { denialReporter } from './events.ts';
import { leaseRegistry } from './lease-registry.ts';
import { egressMetrics } from './metrics.ts';
import { outboundConnections } from './outbound.ts';
import type { PolicySource } from './policy-source.ts';
import { egressProxy } from './proxy.ts';
import { dnsResolver } from './resolve.ts';
import type { EgressSettings } from './settings.ts';
import { upstreamDialer } from './upstream.ts';

export interface RunningEgress extends EgressReady {
  /** Refuses new work, gives open connections the grace period to end, and reports pending denials. */
  stop(): Promise<void>;
  /** The metrics that a scrape reads. */
  readMetrics(): Promise<MetricFamily[]>;
}

/** Builds and starts the proxy. `source` is the controller, or a fake of it. */
export async function startEgress(
  settings: Omit<EgressSettings, 'controllerUrl' | 'egressKey'>,
  source: PolicySource,
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void },
  clock: Clock = realClock,
): Promise<RunningEgress> {
  const ms = (seconds: number) => seconds * 1000;
  const ports: number[] = [];
  let stopping = false;
  const metrics = egressMetrics({ leases: () => leases.size, clients: () => places.counts });
  const places = new ClientPlaces({
    leasedMax: settings.clientsMax,
    headMs: ms(settings.headSeconds),
    onTakenBack: reason => metrics.clientsClosed.inc({ reason }),
  });
  const leases = leaseRegistry({
    source,
    limits: {
      connectionsMax: settings.connectionsPerLease,
      bytesMax: settings.bytesPerLease,
    },
    leasesMax: settings.leasesMax,
    freshMs: ms(settings.freshSeconds),
    confirmMs: ms(settings.confirmSeconds),
    watchMs: Math.round(ms(settings.watchSeconds)),
    clock,
    onUnavailable: cause => {
      metrics.policyFailures.inc();
      log.warn({ cause: cause instanceof Error ? cause.message : 'unknown' }, 'controller call failed');
    },
  });
  const reporter = denialReporter({ source, clock, onDropped: dropped => metrics.eventsDropped.inc(dropped) });
  const addresses = addressPolicy({
    classifier: addressClassifier({
      denied: settings.deniedCidrs,
      allowed: settings.allowedCidrs,
    }),
    resolver: dnsResolver({
      servers: settings.dnsServers.length > 0 ? settings.dnsServers : undefined,
      timeoutMs: ms(settings.dnsSeconds),
    }),
    ownPorts: () => ports,
    onLookup: seconds => metrics.lookupSeconds.observe(seconds),
  });
  const timeoutMs = ms(settings.connectSeconds);
  const upstream = settings.upstreamUrl;
  const dialer = upstream
    ? upstreamDialer(
        {
          url: new URL(upstream),
          credential: settings.upstreamCredential,
          ca: settings.upstreamCa,
        },
        { timeoutMs },
      )
    : directDialer({ timeoutMs });
  const proxy = egressProxy({
    outbound: outboundConnections({
      leases,
      places,
      addresses,
      dialer,
      reporter,
      metrics,
      idleMs: ms(settings.idleSeconds),
      headMs: ms(settings.headSeconds),
    }),
    places,
    headMs: ms(settings.headSeconds),
    onBug: cause => log.error({ err: cause }, 'unexpected error'),
  });
  const admin = adminServer(metrics.registry, () => !stopping);

  const adminPort = await listen(admin, settings.adminHost, settings.adminPort);
  const { port } = await proxy.listen(settings.host, settings.port);
  ports.push(port, adminPort);
  leases.start();
  reporter.start();

  return {
    port,
    adminPort,
    readMetrics: () => metrics.registry.getMetricsAsJSON(),
    async stop() {
      stopping = true;
      await proxy.stop(ms(settings.graceSeconds));
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
