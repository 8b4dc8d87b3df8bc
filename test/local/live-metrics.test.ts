import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENV, LABELS, NAMESPACES } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { RATE } from '../../manifests/monitoring/dashboard.ts';
import { DASHBOARDS } from '../../manifests/monitoring/dashboards/all.ts';
import { ruleGroups } from '../../manifests/monitoring/rules.ts';
import { eventually } from '../eventually.ts';
import { parseExposition } from '../manifests/exported-metrics.ts';
import { lintMetrics } from '../manifests/lint-metrics.ts';
import { startPrometheus } from '../prometheus-server.ts';
import { startConsoleProcess } from './console-process.ts';
import { type SiteStack, startSiteStack } from './site-stack.ts';

// Every query of panels and alerts, asked of a Prometheus that scraped a live stack whose sessions used all of it.

const CAPACITY = 2;

/** Series that a stack of one machine does not have, each with its reason. */
const FAKES: Readonly<Record<string, { reason: string; type: string; samples: readonly string[] }>> = {
  kube_pod_info: {
    reason: 'from kube-state-metrics: there is no cluster',
    type: 'gauge',
    samples: [`{namespace="${NAMESPACES.runners}",pod="a"} 1`],
  },
  kube_pod_deletion_timestamp: {
    reason: 'from kube-state-metrics: there is no cluster',
    type: 'gauge',
    samples: [`{namespace="${NAMESPACES.runners}",pod="a"} 1000`],
  },
  ...Object.fromEntries(
    ['objects', 'bytes', 'oldest_timestamp_seconds', 'expiry_seconds', 'retention_seconds'].map(what => [
      `omicron_artifact_store_${what}`,
      {
        reason: 'the store of a local stack is a folder, which no lifecycle rule empties and no look counts',
        type: 'gauge',
        samples: ['{prefix="pw-videos/"} 7'],
      },
    ]),
  ),
  omicron_egress_clients_closed_total: {
    reason: 'a proxy closes clients for others once thousands have taken its places',
    type: 'counter',
    samples: ['{reason="idle"} 1'],
  },
};

/** A stack's sites have addresses: its proxy asks no name server of the machine, so that this histogram stays empty. */
const UNASKED = 'omicron_egress_lookup_seconds_bucket';

const fakeSeries = Object.entries(FAKES)
  .flatMap(([name, { type, samples }]) => [`# TYPE ${name} ${type}`, ...samples.map(sample => `${name}${sample}`)])
  .join('\n');

/** In place of Grafana's variables, and of a resolution that would need minutes of samples. */
const filledIn = (expr: string, numbers: (typeof DASHBOARDS)[number]['numbers'] = []): string =>
  numbers
    .reduce((text, { name, value }) => text.replaceAll(`$${name}`, String(value)), expr.replaceAll(RATE, '5m'))
    .replaceAll(/:\d+[smh]\]/g, ':1s]');

/** An alert's expression as one that answers whatever its comparisons find: 0 where they do not hold. */
const unconditional = (expr: string): string =>
  expr.replace(/^absent\((.*)\)$/, '$1').replaceAll(/ (==|!=|>=|<=|>|<) (?!bool )/g, ' $1 bool ');

describe('a Prometheus that scraped a live stack', () => {
  const started = new AsyncDisposableStack();
  let deployed: SiteStack;
  let pages: Awaited<ReturnType<typeof startConsoleProcess>>;
  let url: string;

  const ask = async (query: string): Promise<number[]> => {
    const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
    const { data, error } = (await answer.json()) as {
      error?: string;
      data?: { result: { value: [number, string] }[] };
    };
    if (data === undefined) throw new Error(`${query}: ${error}`);
    return data.result.map(({ value }) => Number(value[1]));
  };
  const scrapesOf = async () => (await ask(`count_over_time(up{job="${LABELS.controllerApp}"}[1h])`))[0] ?? 0;
  const scrapedAgain = async (times: number) => {
    const before = await scrapesOf();
    await eventually('scrapes', async () => (await scrapesOf()) >= before + times);
  };
  const metric = async (series: string) => {
    const { samples } = parseExposition(await (await fetch(deployed.stack.metricsUrls.controller)).text());
    return samples.find(({ name, labels }) => `${name}${Object.values(labels).join()}` === series)?.value ?? 0;
  };

  /** Sessions that see pages and refusals, wait for places, and are hibernated and restored. */
  async function useAll(round: number): Promise<void> {
    const { sessions, site } = deployed;
    const acquire = (conversationId: string, more = {}) =>
      sessions.acquire({ userId: `user-${conversationId}`, conversationId: `${conversationId}-${round}`, ...more });
    const stored = await metric('omicron_recordings_totalstored');
    await eventually('a warm runner', async () => (await metric('omicron_runnerswarm')) > 0, 60_000);
    const kept = await acquire('kept', { hibernate: 'expiry' });
    const other = await acquire('other');
    for (const lease of [kept, other]) {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(site.url);
      await browser.goto(`http://localhost:${new URL(site.url).port}/`).catch(() => {}); // its address is refused
    }
    await pages.visit();
    await kept.release();
    const third = await acquire('third'); // takes the place of the one that is hibernated for it
    await third.end();
    await other.end();
    const restored = await acquire('kept', { hibernate: 'expiry' });
    await restored.end();
    await eventually(
      'a stored recording',
      async () => (await metric('omicron_recordings_totalstored')) > stored,
      60_000,
    );
  }

  beforeAll(async () => {
    deployed = await startSiteStack(() => ({
      settings: { [ENV.capacity]: String(CAPACITY), [ENV.reapSeconds]: '0.5' },
    }));
    started.use(deployed);
    const exporter = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(`${fakeSeries}\n`);
    });
    await new Promise<void>(done => exporter.listen(0, '127.0.0.1', done));
    started.defer(() => void exporter.close());
    const folder = await mkdtemp(join(tmpdir(), 'live-metrics-'));
    started.defer(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'rules.json'), JSON.stringify({ groups: ruleGroups('https://runbooks.test', 1) }));
    pages = await startConsoleProcess(deployed.stack);
    started.defer(pages.stop);
    const { controller, egress } = deployed.stack.metricsUrls;
    const target = (job_name: string, address: string) => ({
      job_name,
      static_configs: [{ targets: [new URL(address).host], labels: { namespace: NAMESPACES.system, pod: job_name } }],
    });
    const prometheus = await startPrometheus(folder, {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [join(folder, 'rules.json')],
      scrape_configs: [
        target(LABELS.controllerApp, controller),
        target(LABELS.egressApp, egress ?? ''),
        target(LABELS.consoleApp, pages.metricsUrl),
        {
          job_name: 'fakes',
          static_configs: [{ targets: [`127.0.0.1:${(exporter.address() as AddressInfo).port}`] }],
        },
      ],
    });
    started.defer(prometheus.stop);
    ({ url } = prometheus);
    await eventually('a first scrape', async () => (await scrapesOf()) > 0);
    // A series that first appears with its first event has no rate before its second one.
    for (const round of [1, 2]) {
      await useAll(round);
      await scrapedAgain(3);
    }
  }, 240_000);
  afterAll(() => started.disposeAsync());

  it('[O21] answers every query of every panel with data', async () => {
    const queries = DASHBOARDS.flatMap(({ title, rows, numbers }) =>
      rows.flatMap(({ panels }) =>
        panels.flatMap(panel =>
          panel.queries.map(({ expr }) => ({ panel: `${title}: ${panel.title}`, query: filledIn(expr, numbers) })),
        ),
      ),
    );
    expect(queries.length).toBeGreaterThan(75);
    const silent: string[] = [];
    for (const { panel, query } of queries)
      if (!(await ask(query)).some(value => Number.isFinite(value))) silent.push(`${panel}: ${query}`);
    expect(silent.filter(query => !query.includes(UNASKED))).toEqual([]);
    expect(await ask(`count(${UNASKED})`)).toHaveLength(1);
  });

  it('answers every alert and every recorded series with data', async () => {
    const rules = ruleGroups('https://runbooks.test', 1).flatMap(group => group.rules);
    const silent: string[] = [];
    for (const rule of rules) {
      const query = 'record' in rule ? rule.record : unconditional(rule.expr);
      if (!(await ask(query)).some(value => Number.isFinite(value))) silent.push(query);
    }
    expect(silent).toEqual([]);
  });

  it('promtool finds no fault in what the running programs export', async () => {
    const { controller, egress } = deployed.stack.metricsUrls;
    for (const at of [controller, egress ?? '', pages.metricsUrl]) {
      const text = await (await fetch(at)).text();
      expect(parseExposition(text).types.size, at).toBeGreaterThan(10);
      expect(await lintMetrics(text), at).toEqual([]);
    }
  });

  it('takes nothing from a fake that a program of the stack exports', async () => {
    for (const [name, { reason }] of Object.entries(FAKES))
      expect(await ask(`count(${name}{job!="fakes"})`), reason).toEqual([]);
  });
});
