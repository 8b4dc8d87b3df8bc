/**
 * Cost of single statements at size, and a full fleet: `npm run bench -- scale [--ended 1000000] [--live 5000] [--only statements|overload|live|pods]`;
 * `--traced` measures what tracing costs alone, into section `trust`. Real Postgres, the store's own code, fake runners. Writes section `scale`
 * of `.omicron/bench.json`: medians in ms, CPU in ms an operation, the HOT share and WAL of reports and heartbeats, the growth of each table by
 * 1,000 sessions. Exits 1 where that is off by more than half from docs/operations.md. `machine` has the load average.
 */
import { parseArgs } from 'node:util';
import { startPostgresServer } from '../postgres-server.ts';
import { measureEnds } from './ends.ts';
import { machine, readSection, writeSections } from './figures.ts';
import { wrongGrowth } from './growth.ts';
import { measureBurst, measureLive } from './live-sessions.ts';
import { measurePods } from './many-pods.ts';
import { newDatabase } from './new-database.ts';
import { measureOperations } from './operation-cpu.ts';
import { measureHibernation, measureOverload } from './overload.ts';
import { measureStatements } from './statements.ts';
import { measureTraced } from './traced.ts';

const { values } = parseArgs({
  options: {
    ended: { type: 'string', default: '1000000' },
    live: { type: 'string', default: '5000' },
    only: { type: 'string' },
    traced: { type: 'boolean', default: false },
  },
});
const ENDED = Number(values.ended);
const LIVE = Number(values.live);
const PODS = 5_000;

/** A full fleet, on databases of their own. */
async function fullFleet(serverUrl: string) {
  const waiting = await measureOverload(await newDatabase(serverUrl, 'waiting'), 30);
  const obeying = await measureOverload(await newDatabase(serverUrl, 'obeying'), 0);
  return {
    overload: { ...waiting, retry_after_kept: obeying.retry_after_kept }, // who waits there is not asked to return
    overload_obeying: obeying,
    hibernation: await measureHibernation(await newDatabase(serverUrl, 'hibernating')),
  };
}

/** Many live sessions, and a burst of starts, on databases of their own. */
async function liveSessions(serverUrl: string) {
  return {
    live_5000: await measureLive(await newDatabase(serverUrl, 'live'), LIVE),
    burst_1000: await measureBurst(await newDatabase(serverUrl, 'burst')),
  };
}

/** CPU of operations; what compares runs with it. */
async function costs(serverUrl: string) {
  const statements = await measureStatements(serverUrl, { ended: ENDED, live: LIVE });
  const { operations, ...claimToEnd } = await measureOperations(serverUrl);
  return {
    ...statements,
    ...claimToEnd,
    ...(await measureEnds(await newDatabase(serverUrl, 'ends'))),
    hot: {
      report: { ...statements.report, ...operations.report },
      heartbeat: { ...statements.heartbeat, ...operations.heartbeat },
    },
  };
}

/** All parts, or the one that was asked for. */
async function measureParts(serverUrl: string) {
  const manyPods = async (url: string) => ({ pods_5000: await measurePods(url, PODS) });
  const parts = { statements: costs, overload: fullFleet, live: liveSessions, pods: manyPods };
  const section: Record<string, unknown> = {};
  for (const [name, measure] of Object.entries(parts)) {
    if (values.only !== undefined && values.only !== name) continue;
    const beganMs = performance.now();
    Object.assign(section, await measure(serverUrl));
    process.stdout.write(`${name}: ${Math.round((performance.now() - beganMs) / 1_000)} s\n`);
  }
  return { scale: { ...readSection('scale'), ...section, machine: machine() } };
}

let wrong: string[] = [];
const server = await startPostgresServer({ server: ['-c', 'autovacuum=off', '-c', 'synchronous_commit=off'] });
try {
  const sections = values.traced
    ? { trust: { ...readSection('trust'), ...(await measureTraced(server.url)), machine: machine() } }
    : await measureParts(server.url);
  process.stdout.write(`${JSON.stringify(sections, null, 2)}\n`);
  writeSections(sections);
  const grown = 'scale' in sections && 'growth_mb_per_1000' in sections.scale && sections.scale.growth_mb_per_1000;
  if (grown && (values.only === undefined || values.only === 'statements'))
    wrong = wrongGrowth(grown as Record<string, number>); // of this run
} finally {
  await server.stop();
}
for (const line of wrong) process.stderr.write(`${line}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
