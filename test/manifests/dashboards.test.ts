import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { grafanaJson } from '../../manifests/monitoring/dashboard.ts';
import { DASHBOARDS } from '../../manifests/monitoring/dashboards/all.ts';
import { ruleGroups } from '../../manifests/monitoring/rules.ts';
import { renderObjects } from '../../manifests/render.ts';
import { exportedMetrics } from './exported-metrics.ts';
import { readQuery } from './promql.ts';

/** Labels that Prometheus and its operator put on every series of a target. */
const TARGET = ['job', 'instance', 'namespace', 'pod'];
/** Series that come from Prometheus itself and from kube-state-metrics. */
const FOREIGN = ['up', 'kube_pod_info', 'kube_pod_deletion_timestamp'];

/** In no panel and no alert, each group with its reason. */
const UNSEEN: readonly (readonly [RegExp, string])[] = [
  [/_nodejs_(external|heap_size_total)/, 'for a profile of one process, not for a fleet'],
  [/_nodejs_eventloop_lag_(?!p99)/, 'p99 shows what the others do'],
  [/_nodejs_version_info$/, 'says which Node, which the image pins'],
  [/_process_(cpu_(user|system)|start_time|virtual|heap)/, 'part of a series that is shown'],
];

const rules = ruleGroups('https://runbooks.test', 1).flatMap(group => group.rules);
const { controller, egress, console: web } = await exportedMetrics();
/** Labels by series. */
const known = new Map<string, Set<string>>();
for (const { name, labels } of [...controller.samples, ...egress.samples, ...web.samples])
  known.set(name, new Set([...(known.get(name) ?? TARGET), ...Object.keys(labels)]));
for (const name of FOREIGN) known.set(name, new Set(TARGET));
for (const rule of rules) if ('record' in rule) known.set(rule.record, new Set(TARGET));
const types = new Map([...controller.types, ...egress.types, ...web.types]);
const familyOf = (series: string): string => (types.has(series) ? series : series.replace(/_(bucket|sum|count)$/, ''));

const panels = DASHBOARDS.flatMap(dashboard =>
  dashboard.rows.flatMap(row =>
    row.panels.map(panel => ({ dashboard, panel, name: `${dashboard.title}: ${panel.title}` })),
  ),
);

/** Everything of a query that no program exports. */
function unknownParts(expr: string): string[] {
  const { selectors, grouping, counted } = readQuery(expr);
  const grouped = new Set(selectors.flatMap(({ name }) => [...(known.get(name) ?? [])]));
  return [
    ...selectors.filter(({ name }) => !known.has(name)).map(({ name }) => name),
    ...selectors.flatMap(({ name, labels }) =>
      labels.filter(label => known.has(name) && !known.get(name)?.has(label)).map(label => `${name}{${label}}`),
    ),
    ...grouping.filter(label => !grouped.has(label)).map(label => `by (${label})`),
    ...counted.filter(name => known.has(name) && !['counter', 'histogram'].includes(types.get(familyOf(name)) ?? '')),
  ];
}

describe('a query', () => {
  test.each([
    ['sum(rate(omicron_egress_refused_total[5m]))', ['omicron_egress_refused_total']],
    ['max by (state) (omicron_runners{phase="warm"})', ['omicron_runners{phase}']],
    ['sum by (user) (omicron_capacity)', ['by (user)']],
    ['rate(omicron_capacity[5m])', ['omicron_capacity']],
    ['avg_over_time(max(omicron_runner)[1d:1m]) * 24', ['omicron_runner']],
    ['max(omicron_capacity) / $usd + time()', []],
  ])('%s: what is unknown in it is found', (expr, unknown) => {
    expect(unknownParts(expr)).toEqual(unknown);
  });
});

test.each(panels)('$name reads series, labels and types that the programs export', ({ panel }) => {
  expect(panel.queries.flatMap(({ expr }) => unknownParts(expr))).toEqual([]);
});

test.each(panels)('$name names its lines by labels that its query keeps', ({ panel }) => {
  for (const { expr, legend } of panel.queries) {
    const { grouping } = readQuery(expr);
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g)) expect(grouping, legend).toContain(label);
  }
});

test.each(panels)('$name says in its description how to read it', ({ panel }) => {
  expect(panel.description).toMatch(/^[A-Z].{10,}[^.]$/);
});

test('[O21] every metric is in a panel or an alert, or is left out for a reason', () => {
  const read = [...panels.flatMap(({ panel }) => panel.queries), ...rules].flatMap(({ expr }) =>
    readQuery(expr).selectors.map(({ name }) => familyOf(name)),
  );
  const left = [...types.keys()].filter(name => !read.includes(name));
  expect(left.filter(name => !UNSEEN.some(([pattern]) => pattern.test(name)))).toEqual([]);
  for (const [pattern] of UNSEEN)
    expect(
      left.filter(name => pattern.test(name)),
      String(pattern),
    ).not.toEqual([]);
});

describe('in Grafana', () => {
  test('no two dashboards share an address, no two panels a place or an id', () => {
    expect(new Set(DASHBOARDS.map(({ uid }) => uid)).size).toBe(4);
    for (const dashboard of DASHBOARDS) {
      const drawn = (grafanaJson(dashboard).panels ?? []).map(({ id, gridPos }) => {
        if (gridPos === undefined) throw new Error(`${dashboard.title} has a panel without a place`);
        return { id, gridPos };
      });
      expect(new Set(drawn.map(({ id }) => id)).size).toBe(drawn.length);
      const cells = drawn.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
      );
      expect(new Set(cells).size, dashboard.title).toBe(cells.length);
      for (const { gridPos } of drawn) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    }
  });

  test('numbers that a query reads are asked for, and no others', () => {
    for (const dashboard of DASHBOARDS) {
      const asked = (dashboard.numbers ?? []).map(({ name }) => name);
      const exprs = dashboard.rows.flatMap(row => row.panels.flatMap(panel => panel.queries.map(({ expr }) => expr)));
      const read = exprs.flatMap(expr => [...expr.matchAll(/\$(?!__)(\w+)/g)].map(([, name]) => name));
      expect([...new Set(read)].sort(), dashboard.title).toEqual(asked.sort());
    }
  });

  test.each(['dev', 'prod'] as const)('%s has each dashboard as a ConfigMap that the sidecar takes', env => {
    const maps = [...renderObjects(ENVIRONMENTS[env]).values()].filter(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.labels?.grafana_dashboard === '1',
    );
    const files = maps.flatMap(({ data }) => Object.entries(data as Record<string, string>));
    expect(files.map(([file]) => file).sort()).toEqual(DASHBOARDS.map(({ uid }) => `${uid}.json`).sort());
    for (const [file, text] of files) {
      expect(`${JSON.parse(text).uid}.json`).toBe(file);
      expect(readFileSync(new URL(`../../manifests/rendered/dashboards/${file}`, import.meta.url), 'utf8')).toBe(text);
    }
  });

  test('an environment without a Prometheus has none', () => {
    const maps = [...renderObjects(ENVIRONMENTS.local).values()].map(({ metadata }) => metadata.labels ?? {});
    expect(maps.filter(labels => 'grafana_dashboard' in labels)).toEqual([]);
  });
});
