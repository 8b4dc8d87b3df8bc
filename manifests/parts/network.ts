import { BlockList } from 'node:net';
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { LABELS, NAMESPACES, PORTS } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { NOT_PUBLIC } from '../ranges.ts';
import { CONSOLE, CONTROLLER, EGRESS, meta, portNumber, selectNamespace } from './meta.ts';

type Peer = k8s.NetworkPolicyPeer;

const tcp = (...numbers: readonly number[]): k8s.NetworkPolicyPort[] =>
  numbers.map(number => ({ protocol: 'TCP', port: portNumber(number) }));

const system = (labels: Readonly<Record<string, string>>): Peer => ({
  namespaceSelector: selectNamespace(NAMESPACES.system),
  podSelector: { matchLabels: labels },
});
const controller = system(CONTROLLER);
const egress = system(EGRESS);
const webConsole = system(CONSOLE);
const runners: Peer = { namespaceSelector: selectNamespace(NAMESPACES.runners), podSelector: {} };
const mcpClients: Peer = {
  namespaceSelector: selectNamespace(NAMESPACES.api),
  podSelector: { matchLabels: { [LABELS.mcpClient]: 'true' } },
};

const toDns: k8s.NetworkPolicyEgressRule = {
  to: [{ namespaceSelector: selectNamespace('kube-system'), podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
  ports: [
    { protocol: 'UDP', port: portNumber(53) },
    { protocol: 'TCP', port: portNumber(53) },
  ],
};

/** The internet, without this deployment's own addresses. */
const internet = (env: Environment): Peer => ({
  ipBlock: { cidr: '0.0.0.0/0', except: [...NOT_PUBLIC, ...env.ownCidrs.filter(isOutsideNotPublic)] },
});

// A range inside another adds nothing: a VPC may have public addresses, too.
const notPublic = new BlockList();
for (const [address = '', prefix] of NOT_PUBLIC.map(range => range.split('/')))
  notPublic.addSubnet(address, Number(prefix));
const isOutsideNotPublic = (cidr: string): boolean => !notPublic.check(cidr.split('/')[0] ?? '');

/**
 * Which pods may connect to which. UDP may leave a namespace only for DNS; what no rule allows is denied. All runners
 * share one policy: in strict mode the VPC CNI's agent distinguishes pods by name and namespace, not by label
 * (docs/adr/0006).
 */
export function networkPolicies(scope: Construct, env: Environment): void {
  const monitoring = env.monitoringNamespace
    ? [{ namespaceSelector: selectNamespace(env.monitoringNamespace), podSelector: {} }]
    : [];
  const gateway = env.gateway ? [env.gateway.from] : [];
  const people = env.console ? [webConsole] : [];
  const toCollector = env.collector ? [{ to: [...env.collector.to], ports: tcp(...env.collector.ports) }] : [];
  const policy = (
    namespace: string,
    name: string,
    spec: k8s.NetworkPolicySpec,
    waives: Readonly<Record<string, string>> = {},
  ) =>
    new k8s.KubeNetworkPolicy(scope, `network-${namespace}-${name}`, {
      metadata: meta(name, { namespace, wave: 'isolation', waives }),
      spec: { policyTypes: ['Ingress', 'Egress'], ...spec },
    });

  policy(NAMESPACES.runners, 'runners', {
    podSelector: {},
    ingress: [{ from: [mcpClients, controller, ...people], ports: tcp(PORTS.runner) }],
    // No DNS: the proxy resolves names, and DNS queries could exfiltrate data.
    egress: [
      { to: [egress], ports: tcp(PORTS.egress) },
      { to: [controller], ports: tcp(PORTS.controller) },
    ],
  });

  policy(NAMESPACES.system, 'default-deny', { podSelector: {} });

  policy(NAMESPACES.system, 'controller', {
    podSelector: { matchLabels: CONTROLLER },
    ingress: [
      { from: [mcpClients, runners, egress, ...people, ...monitoring, ...gateway], ports: tcp(PORTS.controller) },
    ],
    egress: [
      toDns,
      { to: [runners], ports: tcp(PORTS.runner) },
      { to: env.apiServer.cidrs.map(cidr => ({ ipBlock: { cidr } })), ports: tcp(...env.apiServer.ports) },
      { to: [...env.database.to], ports: tcp(...env.database.ports) },
      ...(env.vault ? [{ to: [...env.vault.to], ports: tcp(...env.vault.ports) }] : []),
      ...(env.profiles ? [{ to: [...env.profiles.endpoints.to], ports: tcp(...env.profiles.endpoints.ports) }] : []),
      ...(env.controllerReachesPublicHttps ? [{ to: [internet(env)], ports: tcp(443) }] : []),
      ...toCollector,
    ],
  });
  policy(NAMESPACES.system, 'egress-proxy', {
    podSelector: { matchLabels: EGRESS },
    ingress: [
      { from: [runners], ports: tcp(PORTS.egress) },
      ...(monitoring.length > 0 ? [{ from: monitoring, ports: tcp(PORTS.egressAdmin) }] : []),
    ],
    egress: [
      toDns,
      { to: [controller], ports: tcp(PORTS.controller) },
      // Every TCP port: the session's browsing policy decides which of them it may use.
      { to: [internet(env)], ports: [{ protocol: 'TCP', port: portNumber(1), endPort: 65_535 }] },
      ...(env.privateSites.peers.length > 0 ? [{ to: [...env.privateSites.peers] }] : []),
      // The proxy's own spans and metrics: it refuses the private address of a collector to pages, as every other.
      ...toCollector,
    ],
  });
  if (env.console)
    policy(NAMESPACES.system, 'console', {
      podSelector: { matchLabels: CONSOLE },
      ingress: [
        { from: [env.console.ingress.from], ports: tcp(PORTS.console) },
        ...(monitoring.length > 0 ? [{ from: monitoring, ports: tcp(PORTS.consoleAdmin) }] : []),
      ],
      egress: [
        toDns,
        { to: [controller], ports: tcp(PORTS.controller) },
        { to: [runners], ports: tcp(PORTS.runner) }, // the test of a credential is an MCP client
        { to: [...(env.console.identityProvider ?? [internet(env)])], ports: tcp(443) },
        ...toCollector,
      ],
    });
  // Whether it is ours or not, callers are admitted where they arrive, by their label: `mcpClients` above.
  if (env.apiNamespace === 'existing') return;
  policy(NAMESPACES.api, 'default-deny', { podSelector: {} });
  policy(
    NAMESPACES.api,
    'mcp-clients',
    {
      podSelector: { matchLabels: { [LABELS.mcpClient]: 'true' } },
      egress: [toDns, { to: [controller], ports: tcp(PORTS.controller) }, { to: [runners], ports: tcp(PORTS.runner) }],
    },
    { 'dangling-networkpolicy': "It selects pods of the platform's API, which is not deployed from here." },
  );
}
