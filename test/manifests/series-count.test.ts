import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { API_PROBLEMS } from '../../contract/problem.ts';
import { END_REASONS } from '../../contract/session.ts';
import { RUNNER_STATES } from '../../contract/states.ts';
import { ACQUIRE_PARTS, LEASE_STARTS } from '../../controller/acquire-metrics.ts';
import { prometheusMetrics } from '../../controller/metrics.ts';
import { LAUNCH_FAULTS, LAUNCH_PARTS } from '../../controller/runner-metrics.ts';
import { SQL_STEPS } from '../../controller/sql-metrics.ts';
import { parseExposition } from './exported-metrics.ts';

const SESSIONS = 5_000;
const FUNCTIONS = new URL('../../controller/store/functions/', import.meta.url);

const totals = (keys: readonly string[]) => Object.fromEntries(keys.map(key => [key, SESSIONS]));

/** A controller that has seen 5,000 sessions, and in them every outcome, fault, step and code that there is. */
async function everything() {
  const metrics = prometheusMetrics({
    stats: async () => ({
      ...{ active: SESSIONS, starting: SESSIONS, hibernated: SESSIONS, waiting: SESSIONS, capacity: SESSIONS },
      runners: totals(RUNNER_STATES),
      ended: totals(END_REASONS),
      recordings: totals(['stored', 'lost']),
      freezes: totals(['frozen', 'thawed']),
      hibernations: totals(['hibernated', 'restored', 'hibernate_failed', 'restore_failed']),
    }),
  });
  for (let n = 0; n < SESSIONS; n++) {
    const seconds = (n % 200) + n / SESSIONS;
    for (const outcome of ['ready', 'starting', 'failed', ...Object.keys(API_PROBLEMS)])
      metrics.acquired(seconds, outcome);
    for (const outcome of ['place', 'refused', 'left'] as const) metrics.waited(seconds, outcome);
    for (const part of ACQUIRE_PARTS) metrics.acquirePart(part, seconds);
    for (const start of LEASE_STARTS) metrics.leaseStarted(start, seconds);
    for (const part of LAUNCH_PARTS) metrics.launched(part, seconds);
    for (const part of LAUNCH_PARTS) for (const fault of LAUNCH_FAULTS) metrics.runnerFailed(part, fault);
    metrics.firstPage(seconds);
    metrics.hibernated(seconds);
    metrics.ranSql(`function_${n}`, seconds);
    metrics.ranSql(null, seconds);
    metrics.wrote({ verb: `verb${n}`, resource: `resource${n}`, ok: n % 2 === 0 });
  }
  for (const holds of ['videos', 'pages', 'files'] as const)
    metrics.surveyed(
      {
        holds: holds === 'files' ? 'pages' : holds,
        prefix: `pw-${holds}/`,
        objects: 1,
        bytes: 1,
        oldestMs: 1,
        expiryDays: 7,
      },
      7,
    );
  return parseExposition(await metrics.text()).samples;
}

test('a controller has at most 400 series after 5,000 sessions with every outcome, and no label grows with them', async () => {
  const samples = await everything();
  expect(samples.length).toBeLessThanOrEqual(400);
  const values = new Map<string, Set<string>>();
  for (const { name, labels } of samples)
    for (const [label, value] of Object.entries(labels)) {
      const key = `${name.replace(/_(bucket|sum|count)$/, '')} ${label}`;
      values.set(key, (values.get(key) ?? new Set()).add(value));
    }
  // The longest list of values is that of the steps of the database.
  expect([...values].filter(([, seen]) => seen.size > SQL_STEPS.length)).toEqual([]);
});

test('each step of the database that has series is a function of its schema', () => {
  const sql = readdirSync(FUNCTIONS)
    .map(file => readFileSync(new URL(file, FUNCTIONS), 'utf8'))
    .join('\n');
  const made = new Set([...sql.matchAll(/create or replace function omicron\.(\w+)/g)].map(([, name]) => name));
  expect(SQL_STEPS.filter(step => !['select', 'other'].includes(step) && !made.has(step))).toEqual([]);
});
