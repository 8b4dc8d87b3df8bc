/**
 * Many sessions on a real API server: `npm run simulate -- --sessions N [--rate 10] [--steady 60]`. The cluster is the one that KUBECONFIG
 * names, or the one beside the checkout, without a deployment of this project; this machine must reach its API server, and be its root.
 * The manifests, rights and admission policies are those that ship; two controllers and two egress proxies are processes of this
 * machine; nodes are KWOK's (Go builds it once), runners answer by protocol and have no browser. Then everything happens that
 * happens to a deployment. Prints a report as JSON and, last, `N sessions, N lost without a reason`; fails if any was.
 * `-- --burst N` has N callers come at once to an empty fleet instead, whose pods take 5 s to start and one runner of a hundred fails: how
 * many got a browser, and how fast, beside the same pods created by hand. 1,000 are `burst_1000` of section `scale` of `.omicron/bench.json`.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import pg from 'pg';
import { clusterEnvironment } from '../../cluster/kubectl.ts';
import { ENV, NAMESPACES, SERVICES } from '../../contract/names.ts';
import { controllerKeys, serviceKey, signingKey } from '../../contract/tokens.ts';
import { machine, percentiles, readSection, writeSections } from '../bench/figures.ts';
import { pidsOf, procFile } from '../cluster/node.ts';
import { asController } from '../cluster/runners-namespace-copy.ts';
import { eventually } from '../eventually.ts';
import { parseExposition } from '../manifests/exported-metrics.ts';
import { startPostgresServer } from '../postgres-server.ts';
import { AT_ONCE, burst, createByHand, ONE_FAILS_OF, START_MS, WARM_MS } from './burst.ts';
import { type Callers, callers, type Loss } from './callers.ts';
import { RUNNERS_A_NODE, startNodes } from './nodes.ts';
import {
  apiCalls,
  applyManifests,
  changeTemplate,
  controllerPod,
  nodesOfRunners,
  removeRunners,
  settingsOf,
  simulatedEnvironment,
} from './plane.ts';
import { type Program, startController, startEgress, stopController, usageOf } from './programs.ts';
import { startRunners } from './runners.ts';
import { startService } from './service.ts';

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '500' },
    rate: { type: 'string', default: '10' },
    steady: { type: 'string', default: '60' },
    burst: { type: 'string' },
  },
});
const BURST = values.burst === undefined ? undefined : Number(values.burst);
const SESSIONS = BURST ?? Number(values.sessions);
const STEADY_MS = Number(values.steady) * 1_000;
/** Every caller has leased again after this. */
const ROUND_MS = 30_000;
const LOST_SHARE = 0.05;
/** Kubernetes notices a node that is gone, and removes its pods, within this. */
const LOSS_MS = 150_000;
const CONTROLLERS = 2;
const SITE = '127.0.0.77';

const folder = join(import.meta.dirname, '../../.omicron/simulate');
mkdirSync(folder, { recursive: true, mode: 0o700 });
const progress = (line: string) => process.stderr.write(`${line}\n`);
await using cleanUp = new AsyncDisposableStack();

const capacity = SESSIONS + Math.ceil(SESSIONS / 5);
const env = simulatedEnvironment(capacity);
await applyManifests(env);
await removeRunners();
cleanUp.defer(removeRunners);
// one more node than it takes, so that sessions of lost ones find places
const nodes = cleanUp.use(
  await startNodes(
    Math.ceil((capacity * 1.2) / RUNNERS_A_NODE) + 1,
    folder,
    NAMESPACES.runners,
    BURST === undefined ? 0 : START_MS,
  ),
);
progress(`${nodes.names.length} nodes`);

const config = new KubeConfig();
config.loadFromFile(clusterEnvironment().KUBECONFIG ?? '');
const kubeconfig = join(folder, 'controller.kubeconfig');
const inPlace = await controllerPod();
writeFileSync(kubeconfig, (await asController(inPlace.name)).exportConfig(), { mode: 0o600 });

const byHand = BURST === undefined ? undefined : await createByHand(config, await asController(), BURST);
if (byHand !== undefined) progress(`${BURST} pods by hand: ${byHand} a second`);

const postgres = await startPostgresServer({ server: ['-c', 'max_connections=200'] });
cleanUp.defer(() => postgres.stop());
const service = cleanUp.use(await startService());
const controllerUrl = `http://127.0.0.1:${service.port}`;
const site = createServer(socket => socket.on('error', () => {})).listen(443, SITE);
cleanUp.defer(() => void site.close());

const signing = JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));
const [serviceSecret, egressSecret] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
const NOT_HERE = /^(AWS_|OMICRON_ARTIFACT_|OMICRON_PROFILE_|OMICRON_HOST|OMICRON_DATA_DIR)/;
const shipped = Object.entries(settingsOf(env, SERVICES.controller)).filter(([name]) => !NOT_HERE.test(name));
const settings = {
  ...Object.fromEntries(shipped),
  KUBECONFIG: kubeconfig,
  [ENV.databaseUrl]: `${postgres.url}/postgres`,
  [ENV.serviceSecret]: serviceSecret,
  [ENV.egressSecret]: egressSecret,
  [ENV.signingKey]: signing,
  [ENV.derivationKey]: randomBytes(32).toString('base64'),
  OMICRON_SECRET_STORE: 'file',
  OMICRON_SECRET_FILE_KEY: randomBytes(32).toString('base64'),
  [ENV.podAddress]: inPlace.address,
  ...(BURST === undefined
    ? { OMICRON_POOL_IDLE: '20', OMICRON_POOL_BURST: '50' }
    : {
        OMICRON_POOL_IDLE: '0',
        OMICRON_LAUNCHES_MAX: String(AT_ONCE / CONTROLLERS),
        OMICRON_START_ATTEMPTS: '1',
      }),
};
let replica = 0;
const newController = () => {
  const name = `controller-${replica++}`;
  return startController(name, folder, { ...settings, OMICRON_DATA_DIR: join(folder, name) }, service);
};
const controllers: Program[] = [await newController(), await newController()];
cleanUp.defer(async () => {
  for (const each of controllers) await stopController(each, service);
});
const egressSettings = {
  ...settingsOf(env, SERVICES.egress),
  OMICRON_CONTROLLER_URL: controllerUrl,
  [ENV.egressSecret]: egressSecret,
  OMICRON_EGRESS_ALLOWED_CIDRS: `${SITE}/32`,
};
const egress = [
  await startEgress('egress-0', folder, egressSettings),
  await startEgress('egress-1', folder, egressSettings),
];
cleanUp.defer(() => {
  for (const { child } of egress) child.kill('SIGTERM');
});
const runners = await startRunners({
  config,
  keys: controllerKeys(JSON.stringify({ keys: [signingKey(signing).publicJwk] })),
  controllerUrl,
  egressPorts: egress.map(({ port }) => port),
  site: `${SITE}:443`,
  ...(BURST === undefined ? {} : { oneFailsOf: ONE_FAILS_OF, warmMs: WARM_MS }),
});
cleanUp.defer(() => runners.stop());

/** Its first process names its port; the others are that one's children. */
async function postgresPids(): Promise<number[]> {
  const { port } = new URL(postgres.url);
  const all = await pidsOf('postgres');
  const named = await Promise.all(all.map(async pid => (await procFile(pid, 'cmdline'))?.includes(port) && pid));
  const first = named.find(pid => typeof pid === 'number');
  const parentOf = async (pid: number) => Number((await procFile(pid, 'stat'))?.split(') ')[1]?.split(' ')[1]);
  const children = await Promise.all(all.map(async pid => ((await parentOf(pid)) === first ? [pid] : [])));
  return first === undefined ? [] : [first, ...children.flat()];
}
const parts = async (): Promise<Record<string, number[]>> => ({
  controllers: controllers.flatMap(({ child }) => child.pid ?? []),
  egress: egress.flatMap(({ child }) => child.pid ?? []),
  postgres: await postgresPids(),
  kwok: nodes.kwok.pid === undefined ? [] : [nodes.kwok.pid],
  apiserver: await pidsOf('kube-apiserver'),
  etcd: await pidsOf('etcd'),
  controller_manager: await pidsOf('kube-controller'),
  scheduler: await pidsOf('kube-scheduler'),
  runners_and_callers: [process.pid],
});
async function usage() {
  const sums: Record<string, { cpu: number; mb: number; max: number }> = {};
  for (const [name, pids] of Object.entries(await parts())) {
    const found = pids.flatMap(pid => usageOf(pid) ?? []);
    sums[name] = {
      cpu: found.reduce((sum, each) => sum + each.cpu, 0),
      mb: found.reduce((sum, each) => sum + each.mb, 0),
      max: Math.max(0, ...found.map(each => each.mb)),
    };
  }
  return sums;
}

const phases: Record<string, unknown> = {};
const called: Callers = callers(controllerUrl, serviceKey(serviceSecret));
cleanUp.defer(() => called.stop());
const rounded = (value: number) => Math.round(value * 100) / 100;

/** This process's own: callers and runners that answer late here are not the product. */
const loopDelay = monitorEventLoopDelay({ resolution: 20 });
loopDelay.enable();

/** Does something, and writes down what it cost. */
async function phase(name: string, work: () => Promise<void>): Promise<void> {
  progress(`${name} ...`);
  called.phase = name;
  const before = { usage: await usage(), calls: await apiCalls(), losses: called.losses.length, ms: performance.now() };
  loopDelay.reset();
  await work();
  const own_loop_delay_ms = { p99: rounded(loopDelay.percentile(99) / 1e6), max: rounded(loopDelay.max / 1e6) };
  const [after, calls] = [await usage(), await apiCalls()];
  const seconds = (performance.now() - before.ms) / 1_000;
  phases[name] = {
    seconds: rounded(seconds),
    live: called.live.size,
    lost: called.losses.length - before.losses,
    own_loop_delay_ms,
    cores: Object.fromEntries(
      Object.entries(after).map(([part, { cpu }]) => [
        part,
        rounded(Math.max(0, cpu - (before.usage[part]?.cpu ?? 0)) / seconds),
      ]),
    ),
    mb: Object.fromEntries(Object.entries(after).map(([part, { mb }]) => [part, mb])),
    controller_mb_max: after.controllers?.max,
    api_calls: Object.fromEntries(
      [...calls].flatMap(([key, count]) => {
        const more = count - (before.calls.get(key) ?? 0);
        return more > SESSIONS / 50 && !/leases|nodes|events$/.test(key) ? [[key, more]] : [];
      }),
    ),
  };
}

/** Runners that a fault took away, by the fault. */
const taken = new Map<string, string>();
async function take(names: readonly string[], fault: string): Promise<string[]> {
  const found = [...(await nodesOfRunners())].filter(([, node]) => names.includes(node)).map(([id]) => id);
  for (const id of found) taken.set(id, fault);
  return found;
}

/** Mean time of each part of a launch, as the controllers count it. */
async function launchPartsMs(): Promise<Record<string, number>> {
  const texts = await Promise.all(
    controllers.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  );
  const samples = texts.flatMap(text => parseExposition(text).samples);
  const total = (of: string, part?: string) =>
    samples
      .filter(({ name, labels }) => name === `omicron_launch_part_seconds_${of}` && labels.part === part)
      .reduce((sum, { value }) => sum + value, 0);
  const parts = [
    ...new Set(
      samples.flatMap(({ name, labels }) => (name === 'omicron_launch_part_seconds_sum' ? [labels.part] : [])),
    ),
  ];
  return Object.fromEntries(parts.map(part => [part, Math.round((1_000 * total('sum', part)) / total('count', part))]));
}

if (BURST !== undefined) {
  let started = {};
  await phase('burst', async () => {
    started = { ...(await burst(controllerUrl, serviceKey(serviceSecret), BURST)), pods_by_hand_a_second: byHand };
  });
  started = { ...started, launch_parts_ms: await launchPartsMs() };
  process.stdout.write(`${JSON.stringify({ machine: machine(), burst: started, phases }, null, 2)}\n`);
  if (BURST === 1_000)
    writeSections({ scale: { ...readSection('scale'), burst_1000: { ...started, machine: machine() } } });
  await cleanUp.disposeAsync();
  process.exit(0);
}

const few = Math.max(1, Math.round(nodes.names.length * LOST_SHARE));
await phase('ramp', () => called.ramp(SESSIONS, Number(values.rate)));
await phase('steady state', () => sleep(STEADY_MS));
await phase('rollout of controllers', async () => {
  for (const old of [...controllers]) {
    controllers.push(await newController());
    await stopController(old, service);
    controllers.splice(controllers.indexOf(old), 1);
  }
  await sleep(ROUND_MS);
});
await phase('new template', async () => {
  await changeTemplate(new Date().toISOString());
  await sleep(ROUND_MS);
});
await phase('restart of Postgres', async () => {
  await postgres.restart();
  await sleep(ROUND_MS);
});
await phase('spot notices', async () => {
  const noticed = nodes.names.slice(0, few);
  await take(noticed, 'spot notice');
  await nodes.evict(noticed);
  await sleep(ROUND_MS);
});
await phase('loss of nodes', async () => {
  const lost = nodes.names.slice(few, 2 * few);
  const gone = await take(lost, 'node lost');
  runners.kill(gone);
  await nodes.lose(lost);
  const isKnown = async () => [...(await nodesOfRunners()).values()].every(node => !lost.includes(node));
  await eventually('pods of lost nodes are removed', isKnown, LOSS_MS);
  await sleep(ROUND_MS);
});

/** Each loss with what the product says about it, and the fault that took the runner. */
async function explained(losses: readonly Loss[]) {
  const client = new pg.Client(`${postgres.url}/postgres`);
  await client.connect();
  const { rows } = await client.query<{ session_id: string; epoch: number; runner_id: string; reason: string | null }>(
    `select r.session_id, r.epoch, r.id as runner_id,
            (select e.data ->> 'reason' from omicron.session_events e where e.session_id = r.session_id and e.epoch = r.epoch
               and e.kind in ('session.error', 'session.ended') limit 1) as reason
       from omicron.runners r where r.session_id is not null`,
  );
  await client.end();
  return losses.map(loss => {
    const row = rows.find(each => each.session_id === loss.sessionId && each.epoch === loss.epoch);
    return { ...loss, reason: row?.reason ?? null, fault: taken.get(row?.runner_id ?? '') ?? null };
  });
}
const losses = await explained(called.losses);
const unexplained = losses.filter(({ reason, fault }) => reason === null || fault === null);
const tally = (names: readonly string[]) =>
  Object.fromEntries([...new Set(names)].map(name => [name, names.filter(each => each === name).length]));
const report = {
  machine: machine(),
  sessions: SESSIONS,
  nodes: nodes.names.length,
  phases,
  latencies_ms: Object.fromEntries(
    [...called.latencies].map(([name, times]) => [name, { ...percentiles(times), count: times.length }]),
  ),
  refusals: Object.fromEntries(called.refusals),
  runners: runners.counts,
  lost: tally(losses.map(({ fault, reason }) => `${fault ?? 'no fault'}: ${reason ?? 'no reason'}`)),
  unexplained,
};
writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
await cleanUp.disposeAsync();
process.stdout.write(`${SESSIONS} sessions, ${unexplained.length} lost without a reason\n`);
process.exit(unexplained.length === 0 ? 0 : 1);
