import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { API_PROBLEMS } from '../../contract/problem.ts';
import { END_REASONS } from '../../contract/session.ts';
import { SOURCE_REPOSITORY } from '../../contract/source-repository.ts';
import { FAILED_CODES } from '../../controller/acquire-metrics.ts';
import { prometheusMetrics } from '../../controller/metrics.ts';
import { egressMetrics } from '../../egress/metrics.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { OBJECTIVES } from '../../manifests/monitoring/objectives.ts';
import { ruleGroups } from '../../manifests/monitoring/rules.ts';
import { runbooksOf } from '../../manifests/parts/monitoring.ts';
import { renderObjects } from '../../manifests/render.ts';
import { ALERT_CASES, type AlertCase } from './alert-cases.ts';
import { controllerText } from './exported-metrics.ts';

const run = promisify(execFile);
/** Series that the rules take from Prometheus itself and from kube-state-metrics. */
const FOREIGN = ['up', 'kube_pod_info', 'kube_pod_deletion_timestamp'];
const groups = ruleGroups('https://runbooks.test', 1);
const alerts = groups.flatMap(({ rules }) => rules).flatMap(rule => ('alert' in rule ? [rule] : []));
const names = [...new Set(alerts.map(({ alert }) => alert))];

type Rule = (typeof groups)[number]['rules'][number];
const rules: Rule[] = groups.flatMap(group => group.rules);

/** The rules of an alert and the recorded ones that they read: promtool's time grows with the rules, and others change nothing. */
function rulesOf(name: string): Set<Rule> {
  const needed = new Set(rules.filter(rule => 'alert' in rule && rule.alert === name));
  for (const rule of needed)
    for (const other of rules) if ('record' in other && rule.expr.includes(String(other.record))) needed.add(other);
  return needed;
}

/** Writes an alert's rules and one case; both files are YAML, and JSON is YAML. Answers the file of the case. */
async function writeCase(folder: string, it: AlertCase, place: number): Promise<string> {
  const needed = rulesOf(it.alert);
  const kept = groups.map(group => ({ ...group, rules: group.rules.filter(rule => needed.has(rule)) }));
  const rulesFile = `${place}-rules.json`;
  await writeFile(join(folder, rulesFile), JSON.stringify({ groups: kept.filter(({ rules }) => rules.length > 0) }));
  const expected = it.fires.map(labels => {
    const rule = alerts.find(
      ({ alert, labels: own }) =>
        alert === it.alert && Object.entries(labels).every(([key, value]) => (own[key] ?? value) === value),
    );
    return { exp_labels: { ...rule?.labels, ...labels }, exp_annotations: rule?.annotations };
  });
  const file = join(folder, `${place}-case.json`);
  await writeFile(
    file,
    JSON.stringify({
      rule_files: [rulesFile],
      evaluation_interval: it.interval,
      tests: [
        {
          interval: it.interval,
          input_series: Object.entries(it.series).map(([series, values]) => ({ series, values })),
          alert_rule_test: [{ eval_time: it.at, alertname: it.alert, exp_alerts: expected }],
        },
      ],
    }),
  );
  return file;
}

const promtool = (files: readonly string[]) =>
  run('promtool', ['test', 'rules', ...files], { maxBuffer: 16 * 1024 ** 2 }).catch(
    error => error as { stdout: string; stderr: string }, // of the program, which answers with an error if a case fails
  );

let folder: string;
/** Files of the cases, and those that held: one process judges all. */
const files = new Map<AlertCase, string>();
const held = new Set<string>();

beforeAll(async () => {
  const there = await run('promtool', ['--version']).then(
    () => true,
    () => false,
  );
  if (!there) throw new Error('promtool is not installed: npm test installs it');
  folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  for (const [place, it] of ALERT_CASES.entries()) files.set(it, await writeCase(folder, it, place));
  const { stdout } = await promtool([...files.values()]);
  for (const [, file = ''] of stdout.matchAll(/^Unit Testing: +(\S+)\n +SUCCESS$/gm)) held.add(file);
});
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true });
});

describe.each(names)('%s', alert => {
  const cases = ALERT_CASES.filter(each => each.alert === alert);

  test('has a case in which it fires and one in which it does not', () => {
    expect(cases.some(({ fires }) => fires.length > 0)).toBe(true);
    expect(cases.some(({ fires }) => fires.length === 0)).toBe(true);
  });

  test.each(cases)('$fires.length times: $when', async it => {
    const file = files.get(it) ?? '';
    if (held.has(file)) return;
    const { stdout, stderr } = await promtool([file]); // says what it expected and what it got
    expect.fail(`${stdout}${stderr}`);
  });

  test('has a runbook that says what it means, what to look at, what to do and when it is over', () => {
    const file = fileURLToPath(new URL(`../../docs/runbooks/${alert}.md`, import.meta.url));
    expect(existsSync(file), file).toBe(true);
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(new RegExp(`^# ${alert}\n`));
    for (const part of ['## Meaning', '## Look', '## Do', '## Over']) expect(text, part).toContain(`\n${part}\n`);
    expect(text).toMatch(/^ {4}(kubectl|aws|curl) /m);
  });
});

test('no alert fires for an empty warm pool in a deployment without one', () => {
  const without = ruleGroups('https://runbooks.test', 0).flatMap(({ rules }) => rules);
  const left = new Set(without.flatMap(rule => ('alert' in rule ? [rule.alert] : [])));
  expect(names.filter(name => !left.has(name))).toEqual(['BrowserWarmPoolEmpty']);
});

test('every alert links its runbook and has a severity', () => {
  for (const { alert, labels, annotations } of alerts) {
    expect(annotations.runbook_url).toBe(`https://runbooks.test/${alert}.md`);
    expect(['page', 'ticket']).toContain(labels.severity);
  }
});

test('alerts read only series that are exported', async () => {
  const stats = {
    active: 0,
    starting: 0,
    capacity: 0,
    runners: { warm: 0 },
    ended: {},
    recordings: {},
    freezes: {},
    hibernated: 0,
    waiting: 0,
    hibernations: {},
  };
  const nothing = { stats: async () => stats };
  // Metrics ask the directory for the stats alone.
  const controller = await prometheusMetrics(nothing as unknown as Parameters<typeof prometheusMetrics>[0]).text();
  const egress = await egressMetrics({
    leases: () => 0,
    clients: () => ({ unauthenticated: 0, idle: 0, busy: 0 }),
  }).registry.metrics();
  const exported = [...`${controller}\n${egress}`.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_count`, `${name}_sum`, `${name}_bucket`] : [name],
  );
  const known = new Set<string>([...exported, ...FOREIGN]);
  const read = groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ expr }) => expr.replaceAll(/"[^"]*"/g, '').match(/\b(omicron|kube)_[a-z_]+\b/g) ?? []);
  expect(read.length).toBeGreaterThan(20);
  expect(read.filter(name => !known.has(name))).toEqual([]);
});

test('each objective about a time counts up to a bucket that its histogram has', async () => {
  const text = await controllerText();
  const limits = OBJECTIVES.flatMap(({ bad }) => [...bad('5m').matchAll(/(\w+_bucket)\{[^}]*le="([^"]+)"/g)]);
  expect(limits).toHaveLength(4);
  for (const [, series, le] of limits) expect(text).toMatch(new RegExp(`^${series}\\{[^}]*le="${le}"`, 'm'));
});

test("failed codes are the controller's own faults: every 5xx of it but a stop, and the cap", () => {
  // Errors of clients, and of the gateway, with which no acquire ends.
  const others = ['browser_unreachable', 'controller_unreachable', 'lease_starting', 'issuer_unavailable'];
  const own = Object.entries(API_PROBLEMS)
    .filter(([code, { status }]) => status >= 500 && code !== 'shutting_down' && !others.includes(code))
    .map(([code]) => code);
  expect([...FAILED_CODES].sort()).toEqual([...own, 'capacity_exceeded'].sort());
  expect(END_REASONS).toContain('runner_lost');
});

test('alerts of an environment that Argo CD reads from a registry link the runbooks of its release', () => {
  const gitops = { repository: 'oci://registry.example.com/omicron-browser/manifests', revision: '0.1.0' };
  const page = `${SOURCE_REPOSITORY}/blob/v0.1.0/docs/runbooks`;
  expect(runbooksOf({ gitops })).toBe(page);
  const rendered = [...renderObjects({ ...ENVIRONMENTS.dev, gitops }).values()].filter(
    ({ kind }) => kind === 'PrometheusRule',
  );
  expect(JSON.stringify(rendered)).toContain(`"runbook_url":"${page}/BrowserControllerDown.md"`);
  expect(runbooksOf(ENVIRONMENTS.dev)).toBe(`${SOURCE_REPOSITORY}/blob/main/docs/runbooks`);
});

describe('the objects of the Prometheus operator', () => {
  // The parts of the published schema that are used here, strictly: monitoring.coreos.com/v1.
  const duration = z.string().regex(/^\d+(ms|s|m|h|d)$/);
  const metadata = z.object({ name: z.string(), namespace: z.string() });
  const rule = z.union([
    z.strictObject({ record: z.string(), expr: z.string() }),
    z.strictObject({
      alert: z.string(),
      expr: z.string(),
      for: duration,
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()),
    }),
  ]);
  const prometheusRule = z.strictObject({
    apiVersion: z.literal('monitoring.coreos.com/v1'),
    kind: z.literal('PrometheusRule'),
    metadata,
    spec: z.strictObject({
      groups: z.array(z.strictObject({ name: z.string(), interval: duration.optional(), rules: z.array(rule) })),
    }),
  });
  const serviceMonitor = z.strictObject({
    apiVersion: z.literal('monitoring.coreos.com/v1'),
    kind: z.literal('ServiceMonitor'),
    metadata,
    spec: z.strictObject({
      selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
      namespaceSelector: z.strictObject({ matchNames: z.array(z.string()) }),
      endpoints: z.array(
        z.strictObject({ port: z.string(), path: z.string(), interval: duration, scrapeTimeout: duration }),
      ),
    }),
  });

  test.each(['dev', 'prod'] as const)('in %s keep to its schema', env => {
    const found = [...renderObjects(ENVIRONMENTS[env]).values()].filter(({ apiVersion }) =>
      apiVersion.startsWith('monitoring.'),
    );
    expect(found).toHaveLength(3);
    for (const object of found) (object.kind === 'PrometheusRule' ? prometheusRule : serviceMonitor).parse(object);
  });
});
