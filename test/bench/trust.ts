/**
 * Watching, verifying and paying for a deployment: `npm run bench -- trust [--live 5000] [--images] [--only series|traced|events|release]`.
 * Series of a controller with many sessions, and the CPU of Postgres for a scrape of them; the CPU of tracing (as `scale --traced`); events that
 * are delivered; parts of a release that have the same digest when they are built twice, images only with `--images`, which takes minutes and
 * the cluster beside the checkout; USD of a session-hour of prod's browser nodes, as the command `cost` estimates them, at the prices of
 * us-east-1, which the aim is about, and of prod's own region: on demand, on spot instances alone, and with sessions that idle and are hibernated for
 * two thirds of their hours. Writes section `trust` of `.omicron/bench.json`.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rebuildTestImages } from '../../cluster/images.ts';
import { besideCluster } from '../../cluster/kubectl.ts';
import { ENV } from '../../contract/names.ts';
import { dryRun } from '../../release/dry-run.ts';
import { startPostgresServer } from '../postgres-server.ts';
import { measureEventRate } from './event-rate.ts';
import { machine, readSection, writeSections } from './figures.ts';
import { newDatabase } from './new-database.ts';
import { measureSeries } from './series.ts';
import { measureTraced } from './traced.ts';

const { values } = parseArgs({
  options: {
    live: { type: 'string', default: '5000' },
    images: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const EVENT_SECONDS = 10;
const PRICED_SESSIONS = '500';
const PRICED_REGION = ['--region', 'us-east-1'];
const HIBERNATED_PERCENT = '67';
const ROOT = join(import.meta.dirname, '../..');
const log = (line: string) => void process.stderr.write(`${line}\n`);

function usdOfNodes(...options: string[]): number {
  const command = [join(ROOT, 'cli/bin.js'), 'cost', '--env', 'prod', '--sessions', PRICED_SESSIONS, ...options];
  const estimate = JSON.parse(execFileSync(process.execPath, [...command, '-o', 'json'], { encoding: 'utf8' }));
  return Math.round(100_000 * estimate.usd_session_hour_by_part['browser nodes']) / 100_000;
}

const usdOfASessionHour = (...region: string[]) => ({
  on_demand: usdOfNodes(...region),
  idle: usdOfNodes('--hibernated', HIBERNATED_PERCENT, ...region),
  spot: usdOfNodes('--spot', '100', ...region),
});

/** Whether each image has the same digest when it is built again; null, and why, where none was built. */
async function imagesTwice(): Promise<{ images: boolean | null; images_reason?: string }> {
  if (!values.images) return { images: null, images_reason: 'not built: --images was not given' };
  const tool = besideCluster('cluster');
  if (tool === undefined) return { images: null, images_reason: 'no cluster beside the checkout has a base for them' };
  const same = await rebuildTestImages(tool, process.env, log);
  return { images: Object.values(same).every(Boolean) };
}

async function reproducible() {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
  const { manifests, packages, 'omicron-browser': chart } = (await dryRun(commit)).reproducible;
  return { ...(await imagesTwice()), manifests, chart, packages };
}

const server = await startPostgresServer({ server: ['-c', 'synchronous_commit=off'] });
try {
  const parts: Record<string, () => Promise<object>> = {
    series: () => measureSeries(server.url, Number(values.live)),
    traced: () => measureTraced(server.url),
    events: async () => ({
      events: await measureEventRate(EVENT_SECONDS, { [ENV.databaseUrl]: await newDatabase(server.url, 'events') }),
    }),
    release: async () => ({
      reproducible: await reproducible(),
      usd_per_session_hour: { ...usdOfASessionHour(...PRICED_REGION), prods_region: usdOfASessionHour() },
    }),
  };
  const trust: Record<string, unknown> = readSection('trust');
  for (const [name, measure] of Object.entries(parts))
    if (values.only === undefined || values.only === name) Object.assign(trust, await measure());
  Object.assign(trust, { machine: machine() });
  process.stdout.write(`${JSON.stringify(trust, null, 2)}\n`);
  writeSections({ trust });
} finally {
  await server.stop();
}
