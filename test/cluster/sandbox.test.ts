import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl, tryKubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, PORTS, SERVICES } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { inNetworkOf, lookAt, networkOf, processesOf, procFile, type SeenProcess } from './node.ts';
import { containerOf, podsOf, uidOf } from './pods.ts';
import { probeFrom } from './probe.ts';

const RESTRICTED = 'omicron-restricted';
const TOKEN = '/var/run/secrets/eks.amazonaws.com/serviceaccount/token';

// A leased runner on a page, as root of its node sees it.
let ingress: Ingress;
let lease: Lease;
let pod: V1Pod;
let browser: SeenProcess[];
let uploader: SeenProcess[];

/** The container's own program, not what it started. */
const main = (container: SeenProcess[]): SeenProcess => {
  const found = container.find(({ command }) => command.startsWith('node '));
  if (!found) throw new Error('the container does not run Node');
  return found;
};

beforeAll(async () => {
  ingress = await openIngress();
  const sessions = new BrowserSessions(ingress);
  lease = await sessions.acquire({ userId: `sandbox-${randomUUID()}`, conversationId: 'c', recordVideo: false });
  await using connected = await connectMcpBrowser(lease);
  await connected.goto(SITES.site);
  const selector = `${LABELS.sessionId}=${lease.sessionId}`;
  pod = await eventually('the pod is labelled', async () => (await podsOf(NAMESPACES.runners, selector))[0]);
  browser = await lookAt(await processesOf(containerOf(pod, 'browser')));
  uploader = await lookAt(await processesOf(containerOf(pod, 'uploader')));
});
afterAll(async () => {
  await lease?.end();
  ingress?.close();
});

describe('[N5] the sandbox of a leased runner', () => {
  test("every renderer is in a user namespace of its own, under Chromium's filter beside the container's", () => {
    const renderers = browser.filter(({ command }) => command.includes('--type=renderer'));
    expect(renderers.length).toBeGreaterThan(0);
    const outer = main(browser);
    for (const { status, userNamespace } of renderers) {
      expect(userNamespace).not.toBe(outer.userNamespace);
      expect(status).toMatchObject({ Seccomp: '2', NoNewPrivs: '1', CapEff: '0000000000000000' });
      expect(Number(status.Seccomp_filters)).toBeGreaterThan(Number(outer.status.Seccomp_filters));
    }
  });

  test('no process of it runs without a sandbox', () => {
    expect(browser.some(({ command }) => command.includes('chrom'))).toBe(true);
    for (const { command } of browser)
      expect(command).not.toMatch(
        /--(no-sandbox|disable-setuid-sandbox|disable-seccomp-filter-sandbox|single-process)/,
      );
  });

  test('its programs run unprivileged: uid 1000, no capability and no way to gain one, under seccomp', () => {
    for (const container of [browser, uploader])
      expect(main(container).status).toMatchObject({
        Uid: '1000\t1000\t1000\t1000',
        ...{ CapPrm: '0000000000000000', CapEff: '0000000000000000', CapBnd: '0000000000000000' },
        ...{ NoNewPrivs: '1', Seccomp: '2' },
      });
  });

  test('not even root writes to its root', async () => {
    for (const container of [browser, uploader])
      await expect(writeFile(join('/proc', String(main(container).pid), 'root', 'left-behind'), '')).rejects.toThrow(
        'EROFS',
      );
  });

  test('Pod Security admits the pod as it is where it enforces `restricted`, without a word', async () => {
    const labels = JSON.parse(
      await kubectl(['get', 'namespace', NAMESPACES.runners, '-o', 'jsonpath={.metadata.labels}']),
    );
    expect(labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    const enforced = Object.fromEntries(
      Object.entries<string>(labels).filter(([key]) => key.startsWith('pod-security.kubernetes.io/')),
    );
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: RESTRICTED, labels: enforced } };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: pod.spec?.serviceAccountName } };
    await kubectl(['create', '-f', '-'], JSON.stringify(namespace));
    try {
      await kubectl(['-n', RESTRICTED, 'create', '-f', '-'], JSON.stringify(account));
      const copy = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'copy' },
        spec: { ...pod.spec, nodeName: undefined },
      };
      const create = ['-n', RESTRICTED, 'create', '--dry-run=server', '-f', '-'];
      expect(await tryKubectl(create, JSON.stringify(copy))).toMatchObject({ ok: true, stderr: '' });
    } finally {
      await kubectl(['delete', 'namespace', RESTRICTED, '--wait=false']);
    }
  });
});

describe('the network of a leased runner', () => {
  const PAGE = readFileSync(new URL('../egress/talkative-page.html', import.meta.url), 'utf8');
  /** As long as a browser takes for its background work. */
  const WATCH_SECONDS = 12;
  const TABLE = 'inet omicron_quiet';
  const nft = (network: number, ...args: string[]) => inNetworkOf(network, 'nft', ...args);
  const service = (name: string) =>
    kubectl(['-n', NAMESPACES.system, 'get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}']);
  /** Datagrams that any process of the pod has sent in its life. */
  async function datagrams(network: number): Promise<number> {
    const [names = [], values = []] = ((await procFile(network, 'net/snmp')) ?? '')
      .split('\n')
      .filter(line => line.startsWith('Udp: '))
      .map(line => line.split(' '));
    const v6 = /^Udp6OutDatagrams\s+(\d+)/m.exec((await procFile(network, 'net/snmp6')) ?? '')?.[1];
    return Number(values[names.indexOf('OutDatagrams')]) + Number(v6 ?? 0);
  }

  test('no packet leaves it but to its proxy, its controller and its callers, whatever a page tries', async () => {
    const network = await networkOf(uidOf(pod));
    const rules = [
      'oifname "lo" accept',
      `tcp sport ${PORTS.runner} accept`,
      `ip daddr ${await service(SERVICES.controller)} tcp dport ${PORTS.controller} accept`,
      `ip daddr ${await service(SERVICES.egress)} tcp dport ${PORTS.egress} accept`,
      // The kernel's own.
      'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } accept',
      'counter name strays',
    ];
    const chain = `chain out { type filter hook output priority 0; policy accept; ${rules.join('; ')}; }`;
    await nft(network, `table ${TABLE} { counter strays { }; ${chain}; }`);
    const strays = async () =>
      Number(/packets (\d+)/.exec(await nft(network, 'list', 'counter', ...TABLE.split(' '), 'strays'))?.[1]);
    try {
      await using connected = await connectMcpBrowser(lease);
      await connected.goto(SITES.site);
      const outcomes = new Map(
        (await connected.evaluate(`() => { document.open(); document.write(${JSON.stringify(PAGE)}); document.close();
          return window.outcomes; }`)) as [string, string][],
      );
      expect(outcomes.get('WebRTC candidates')).toBe('tried');
      await connected.call('browser_wait_for', { time: WATCH_SECONDS });
      expect({ strays: await strays(), datagrams: await datagrams(network) }).toEqual({ strays: 0, datagrams: 0 });
      // One that is sent is seen.
      const send = "require('node:dgram').createSocket('udp4').send('a', 5353, '224.0.0.251', () => process.exit())";
      await inNetworkOf(network, process.execPath, '-e', send);
      expect({ strays: await strays(), datagrams: await datagrams(network) }).toEqual({ strays: 1, datagrams: 1 });
    } finally {
      await nft(network, 'delete', 'table', ...TABLE.split(' '));
    }
  });
});

describe('tokens and credentials in a leased runner', () => {
  test("the browser has no token and no credential, neither for the API server nor for AWS; the uploader has AWS's", async () => {
    const of = (container: SeenProcess[], file: string) => procFile(main(container).pid, file);
    // Below /run: a link such as /var/run leads out of a root that is looked at from outside.
    const token = `root/run/${TOKEN.slice('/var/run/'.length)}`;
    expect(await of(uploader, token)).toMatch(/^eyJ/);
    expect(await of(uploader, 'environ')).toContain(`AWS_WEB_IDENTITY_TOKEN_FILE=${TOKEN}`);
    expect(await of(browser, token)).toBeNull();
    expect(await of(browser, 'environ')).toContain('OMICRON_RUNNER_ID=');
    for (const { pid } of browser) {
      expect(await procFile(pid, 'environ')).not.toMatch(/AWS_|TOKEN|PASSWORD|SECRET/);
      expect(await procFile(pid, 'mountinfo')).not.toMatch(
        /serviceaccount|kubernetes\.io~(secret|projected|configmap)/,
      );
    }
    for (const container of [browser, uploader])
      expect(await of(container, 'root/run/secrets/kubernetes.io/serviceaccount/token')).toBeNull();
    expect(await of(uploader, 'mountinfo')).not.toContain('kubernetes.io/serviceaccount');
  });

  test('it has no name server that answers', async () => {
    const resolver = (await procFile(main(browser).pid, 'root/etc/resolv.conf')) ?? '';
    const servers = [...resolver.matchAll(/^nameserver\s+(\S+)/gm)].map(([, host = '']) => host);
    expect(servers).toEqual(['127.0.0.1']);
    const asked = servers.map(host => ({ by: 'dns', host, port: 53 }) as const);
    expect(await probeFrom(await networkOf(uidOf(pod)), asked)).toEqual(['refused']);
  });
});
