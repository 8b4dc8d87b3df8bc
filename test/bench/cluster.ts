/**
 * The cost of a lease on Kubernetes: `npm run bench -- cluster [--rounds 30]`, on a cluster where `npm run cluster` has run and whose node
 * is this machine. Through the API's network policy and the Services: latencies of a user, and the load on the API server and
 * the node. Writes the section `cluster` of `.omicron/bench.json`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { waitUntilRunning } from '../../cluster/deploy.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { openIngress } from '../../cluster/ingress.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, SERVICES } from '../../contract/names.ts';
import { countWarmRunners } from '../../local/warm-runners.ts';
import { argoPaused } from '../cluster/argo-paused.ts';
import { processesOf } from '../cluster/node.ts';
import { machine, percentiles, writeSections } from './figures.ts';
import { pssOf } from './memory.ts';
import { leased, measure } from './rounds.ts';

const TARGETS = { acquireP50Ms: 25, firstPageP50Ms: 150, idleControllerPssMb: 200 };
const BURST = { callers: 20, warm: 10 };
const REFILLED = 5;
/** An acquire that takes longer has waited for a pod. */
const WARM_ACQUIRE_MS = 2_000;
const SETTLE_MS = 10_000;

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '30' } } });
const rounds = Number(values.rounds);
/** Leases of an interrupted run may still live. */
const run = randomUUID();
const progress = (line: string) => process.stderr.write(`${line}\n`);
const ingress = await openIngress();
const sessions = new BrowserSessions(ingress);

async function untilWarm(count: number): Promise<number> {
  const startMs = performance.now();
  while ((await countWarmRunners(ingress.url)) < count) await delay(100);
  return performance.now() - startMs;
}

/** Sets the pool's size on the Deployment, null: the deployed one; waits until its pods run. */
async function pool(idle: number | null): Promise<void> {
  const change = idle === null ? 'OMICRON_POOL_IDLE-' : `OMICRON_POOL_IDLE=${idle}`;
  await kubectl(['-n', NAMESPACES.system, 'set', 'env', `deployment/${SERVICES.controller}`, change]);
  await waitUntilRunning();
}

/** Calls of the API server for runners since it started, by verb and resource. Status updates are the kubelet's. */
async function apiCalls(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const line of (await kubectl(['get', '--raw', '/metrics'])).split('\n')) {
    const match = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line);
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(match?.[1] ?? '')?.[1] ?? '';
    const resource = label('resource');
    if (!match || !['pods', 'services', 'podtemplates', 'serviceaccounts'].includes(resource)) continue;
    if (label('subresource') !== '' || label('verb') === 'WATCH' || label('verb') === 'LIST') continue;
    const key = `${label('verb')} ${resource}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(match[2]));
  }
  return counts;
}

const uids = async (namespace: string, selector: string): Promise<string[]> =>
  (await kubectl(['-n', namespace, 'get', 'pods', '-l', selector, '-o', 'jsonpath={.items[*].metadata.uid}']))
    .trim()
    .split(' ')
    .filter(Boolean);

async function memory() {
  const lease = await sessions.acquire({ userId: `memory-${run}`, conversationId: 'c', recordVideo: false });
  await delay(SETTLE_MS);
  const [pod = ''] = await uids(NAMESPACES.runners, `${LABELS.sessionId}=${lease.sessionId}`);
  const [controller = ''] = await uids(NAMESPACES.system, `${LABELS.app}=${LABELS.controllerApp}`);
  const measured = {
    leasedRunnerPssMb: pssOf(await processesOf(pod)),
    idleControllerPssMb: pssOf(await processesOf(controller)),
  };
  await lease.end();
  return measured;
}

/** Twenty callers at ten warm runners: ten are served at once, the others as pods start or leases end; none is lost. */
async function burst() {
  await untilWarm(BURST.warm);
  const names = Array.from({ length: BURST.callers }, (_, n) => ({ userId: `burst-${n}-${run}`, conversationId: 'c' }));
  const answers = await Promise.allSettled(
    names.map(async each => {
      const startMs = performance.now();
      const lease = await sessions.acquire({ ...each, recordVideo: false, waitSeconds: 300 });
      const ms = performance.now() - startMs;
      await delay(2_000);
      await lease.end();
      return ms;
    }),
  );
  const times = answers.flatMap(each => (each.status === 'fulfilled' ? [each.value] : [])).sort((a, b) => a - b);
  const lost = answers.flatMap(each => (each.status === 'rejected' ? [String(each.reason)] : []));
  const refillMs = await untilWarm(BURST.warm);
  return {
    callers: BURST.callers,
    warmRunners: BURST.warm,
    servedWarm: times.filter(ms => ms < WARM_ACQUIRE_MS).length,
    acquireMs: percentiles(times),
    lost,
    refilledAfterMs: Math.round(refillMs),
  };
}

/** How fast the pool replaces warm runners that are leased all at once. */
async function refillPerSecond(): Promise<number> {
  await untilWarm(BURST.warm);
  const leases = await Promise.all(
    Array.from({ length: REFILLED }, (_, n) =>
      sessions.acquire({ userId: `refill-${n}-${run}`, conversationId: 'c', recordVideo: false }),
    ),
  );
  const ms = await untilWarm(BURST.warm);
  await Promise.all(leases.map(lease => lease.end()));
  return Math.round((REFILLED / (ms / 1_000)) * 100) / 100;
}

await using _paused = await argoPaused();
try {
  const cluster: Record<string, unknown> = { machine: machine() };
  progress('memory ...');
  Object.assign(cluster, await memory());
  progress(`${rounds} rounds, one at a time ...`);
  await untilWarm(2);
  const before = await apiCalls();
  cluster.clients1 = await measure(
    leased(sessions, () => countWarmRunners(ingress.url), 2),
    { rounds, clients: 1, url: SITES.site },
  );
  await untilWarm(2);
  const after = await apiCalls();
  cluster.apiCallsPerLease = Object.fromEntries(
    [...after].flatMap(([key, count]) => {
      const each = Math.round(((count - (before.get(key) ?? 0)) / rounds) * 100) / 100;
      return each > 0 ? [[key, each]] : [];
    }),
  );
  progress('refill of a pool of ten after five leases ...');
  await pool(BURST.warm);
  cluster.refillPerSecond = await refillPerSecond();
  progress('burst of twenty on ten warm runners ...');
  cluster.burst = await burst();
  const file = writeSections({ cluster });
  process.stdout.write(`${JSON.stringify({ ...cluster, targets: TARGETS }, null, 2)}\n`);
  progress(`written to ${file}`);
} finally {
  await pool(null);
  ingress.close();
}
