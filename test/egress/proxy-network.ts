import { randomBytes, randomUUID } from 'node:crypto';
import type { SiteLayer } from '../../contract/policy/sites.ts';
import { siteRules } from '../../contract/policy/sites.ts';
import { serviceKey } from '../../contract/tokens.ts';
import { type RunningEgress, startEgress } from '../../egress/compose.ts';
import { controllerPolicies } from '../../egress/controller.ts';
import { type EgressSettings, parseEgressSettings } from '../../egress/settings.ts';
import { type Clock, realClock } from '../../time/clock.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type DnsServer, dnsServer, type Zone } from './dns-server.ts';
import { basic } from './raw-client.ts';
import { PUBLIC_ADDRESS, publicSite, type Site, type Trap, trap } from './sites.ts';

export interface TestLease {
  readonly runnerId: string;
  readonly sessionId: string;
  /** The `Proxy-Authorization` line. */
  readonly auth: string;
  readonly credential: string;
  /** Replaces the site rules and notifies the proxy. */
  setSites(layers: readonly SiteLayer[]): void;
  end(): void;
}

export interface ProxyNetwork {
  readonly egress: RunningEgress;
  readonly controller: FakeController;
  readonly dns: DnsServer;
  readonly site: Site;
  readonly trap: Trap;
  readonly logs: string[];
  /** A lease that may use the site's and the trap's port. */
  lease(sites?: object, remainingMs?: number): TestLease;
  close(): Promise<void>;
}

/** The real proxy with a fake controller, a DNS server, a site that may be reached and a trap that may not. */
export async function proxyNetwork(
  zone: Zone,
  environment: Record<string, string> = {},
  adjust: (config: EgressSettings) => EgressSettings = config => config,
  clock: Clock = realClock,
): Promise<ProxyNetwork> {
  const [controller, dns, site, trapped] = await Promise.all([
    startFakeController(),
    dnsServer({ 'site.test': { a: [PUBLIC_ADDRESS] }, ...zone }),
    publicSite(),
    trap(),
  ]);
  const secret = controller.egressSecret;
  const config = adjust(
    parseEgressSettings({
      OMICRON_CONTROLLER_URL: controller.url,
      OMICRON_EGRESS_JWT_SECRET: secret,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: '0',
      OMICRON_EGRESS_ADMIN_HOST: '127.0.0.1',
      OMICRON_EGRESS_ADMIN_PORT: '0',
      OMICRON_EGRESS_ALLOWED_CIDRS: `${PUBLIC_ADDRESS}/32`,
      OMICRON_EGRESS_DNS_SERVERS: dns.address,
      OMICRON_EGRESS_DNS_SECONDS: '1',
      OMICRON_EGRESS_GRACE_SECONDS: '0.1',
      ...environment,
    }),
  );
  const logs: string[] = [];
  const write = (fields: object, message: string) =>
    void logs.push(`${message} ${JSON.stringify(fields)} ${'err' in fields ? String(fields.err) : ''}`);
  const source = controllerPolicies({ url: controller.url, key: serviceKey(secret) });
  const egress = await startEgress(config, source, { warn: write, error: write }, clock);
  let versions = 0;

  return {
    egress,
    controller,
    dns,
    site,
    trap: trapped,
    logs,
    lease(sites = {}, remainingMs = 600_000) {
      const [runnerId, sessionId, credential] = [randomUUID(), randomUUID(), randomBytes(24).toString('base64url')];
      const layers = [
        { layer: 'session' as const, sites: siteRules.parse({ ports: [site.port, trapped.port, 80, 443], ...sites }) },
      ];
      const grant = {
        session_id: sessionId,
        epoch: 1,
        runner_id: runnerId,
        client: 'browser' as const,
        version: `v${versions++}`,
        remaining_ms: remainingMs,
        layers,
      };
      controller.leases.set(runnerId, { credential, grant });
      return {
        runnerId,
        sessionId,
        credential,
        auth: basic(runnerId, credential),
        setSites(changed) {
          controller.leases.set(runnerId, {
            credential,
            grant: { ...grant, version: `v${versions++}`, layers: [...changed] },
          });
          controller.changed();
        },
        end() {
          controller.leases.delete(runnerId);
          controller.changed();
        },
      };
    },
    async close() {
      await egress.stop();
      await Promise.all([controller.close(), dns.close(), site.close(), trapped.close()]);
    },
  };
}
