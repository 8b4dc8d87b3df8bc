import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { LABELS, NAMESPACES } from '../../contract/names.ts';
import { RATE } from '../../manifests/monitoring/dashboard.ts';
import { DASHBOARDS } from '../../manifests/monitoring/dashboards/all.ts';
import { ruleGroups } from '../../manifests/monitoring/rules.ts';
import { consoleText, controllerText, type Exported, egressText, exportedMetrics } from './exported-metrics.ts';
import { lintMetrics } from './lint-metrics.ts';

const run = promisify(execFile);
const MINUTES_OF_DAY = 1_440;

/** A day of a target's series, as promtool takes them: counters rise by what they have, gauges stand. */
function seriesOf({ types, samples }: Exported, job: string) {
  const target = `namespace="${NAMESPACES.system}",job="${job}",instance="${job}-0"`;
  const numbers = samples.filter(({ value }) => !Number.isNaN(value));
  const scraped = numbers.map(({ name, labels, value }) => {
    const rises = (types.get(name) ?? 'histogram') !== 'gauge';
    const own = Object.entries(labels).map(([key, word]) => `${key}="${word}"`);
    return {
      series: `${name}{${[target, ...own].join(',')}}`,
      values: rises ? `0+${value}x${MINUTES_OF_DAY}` : `${value}x${MINUTES_OF_DAY}`,
    };
  });
  return [...scraped, { series: `up{${target}}`, values: `1x${MINUTES_OF_DAY}` }];
}

/** The values that Grafana puts in place of its variables. */
const filledIn = (expr: string, numbers: (typeof DASHBOARDS)[number]['numbers'] = []): string =>
  numbers.reduce((text, { name, value }) => text.replaceAll(`$${name}`, String(value)), expr.replaceAll(RATE, '4m'));

test('[O21] every query of every panel answers with data, from a day of what the programs export', async () => {
  const { controller, egress, console } = await exportedMetrics();
  const folder = await mkdtemp(join(tmpdir(), 'dashboards-'));
  try {
    await writeFile(join(folder, 'rules.json'), JSON.stringify({ groups: ruleGroups('https://runbooks.test', 1) }));
    const queries = DASHBOARDS.flatMap(({ rows, numbers }) =>
      rows.flatMap(({ panels }) => panels.flatMap(panel => panel.queries.map(({ expr }) => filledIn(expr, numbers)))),
    );
    expect(queries.length).toBeGreaterThan(60);
    const file = join(folder, 'test.json');
    await writeFile(
      file,
      JSON.stringify({
        rule_files: ['rules.json'],
        evaluation_interval: '1h',
        tests: [
          {
            interval: '1m',
            input_series: [
              ...seriesOf(controller, LABELS.controllerApp),
              ...seriesOf(egress, LABELS.egressApp),
              ...seriesOf(console, LABELS.consoleApp),
              { series: `kube_pod_info{namespace="${NAMESPACES.runners}",pod="a"}`, values: `1x${MINUTES_OF_DAY}` },
            ],
            // A number, neither NaN nor none: that no comparison with it holds says which query it was.
            promql_expr_test: queries.map(expr => ({
              expr: `count((${expr}) >= 0) > bool 0`,
              eval_time: '1d',
              exp_samples: [{ labels: '{}', value: 1 }],
            })),
          },
        ],
      }),
    );
    const { stdout, stderr } = await run('promtool', ['test', 'rules', file]).catch(
      error => error as { stdout: string; stderr: string },
    );
    expect(`${stdout}${stderr}`).toMatch(/SUCCESS\s*$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('promtool finds no fault in the metrics of the programs', async () => {
  const said = await Promise.all([await controllerText(), await egressText(), await consoleText()].map(lintMetrics));
  expect(said.flat()).toEqual([]);
});
