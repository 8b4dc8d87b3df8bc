import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { CoreV1Api, type KubeConfig, makeInformer, type V1Pod } from '@kubernetes/client-node';
import { LABELS, NAMESPACES, PORTS } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { ACTIVITY_REPORT_SECONDS } from '../../contract/reports.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import { basic, isAnswer, tunnel } from '../egress/raw-client.ts';
import { FakeRunner } from '../fakes/runner.ts';

// A runner without a browser behind the address of each pod: it checks orders, redeems, reports every 15 s, sends an event a call, and
// holds a tunnel of the egress proxies.

const CALLS_A_REPORT = 3;

export interface Runners {
  /** By runner id: those that exist. */
  readonly all: ReadonlyMap<string, FakeRunner>;
  readonly counts: { reports: number; refusedReports: number; events: number; tunnels: number; refusedTunnels: number };
  /** Ends runners at once, as a machine that is gone does. */
  kill(ids: readonly string[]): void;
  stop(): Promise<void>;
}

export interface RunnersOptions {
  config: KubeConfig;
  keys: ControllerKeys;
  controllerUrl: string;
  egressPorts: readonly number[];
  /** Host and port at the far end of tunnels. */
  site: string;
  /** From the address of a pod until its runner is warm: before the pod is ready. */
  warmMs?: number;
  /** One of this many runners says that it cannot start. */
  oneFailsOf?: number;
}

export async function startRunners(options: RunnersOptions): Promise<Runners> {
  const { config, keys, controllerUrl, egressPorts, site, warmMs = 0, oneFailsOf = Number.POSITIVE_INFINITY } = options;
  const all = new Map<string, FakeRunner>();
  const tunnels = new Map<string, Socket>();
  const counts = { reports: 0, refusedReports: 0, events: 0, tunnels: 0, refusedTunnels: 0 };
  const core = config.makeApiClient(CoreV1Api);
  const namespace = NAMESPACES.runners;
  let seenCount = 0;
  const idOf = (pod: V1Pod) => pod.metadata?.labels?.[LABELS.runnerId] ?? '';

  const seen = (pod: V1Pod) => {
    const id = idOf(pod);
    const address = pod.status?.podIP;
    if (id === '' || !address || all.has(id) || pod.metadata?.deletionTimestamp) return;
    const runner = new FakeRunner({
      id,
      keys,
      controllerUrl: () => controllerUrl,
      pass: async () => {},
      nextFailure: () => undefined,
      patienceMs: 30_000,
      onExit: () => tunnels.get(id)?.destroy(),
      mcp: undefined,
    });
    all.set(id, runner);
    seenCount += 1;
    const fails = seenCount % oneFailsOf === 0;
    const start = () => {
      if (fails) runner.failure = new OmicronError('runner_start_failed', 'The disk is full.');
      runner.phase = fails ? 'failed' : 'warm';
    };
    runner.listen(address, PORTS.runner).then(
      () => void setTimeout(start, warmMs),
      error => process.stderr.write(`runner ${id} does not listen: ${error}\n`),
    );
  };
  const gone = (pod: V1Pod) => {
    const id = idOf(pod);
    all.get(id)?.stop();
    all.delete(id);
    tunnels.delete(id);
  };
  const selector = `${LABELS.app}=${LABELS.runnerApp}`;
  const informer = makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/pods`,
    () => core.listNamespacedPod({ namespace, labelSelector: selector }),
    selector,
  );
  informer.on('add', seen);
  informer.on('update', seen);
  informer.on('delete', gone);
  informer.on('error', () => void setTimeout(() => void informer.start(), 500));
  await informer.start();

  const open = async (runner: FakeRunner, credential: string) => {
    const port = egressPorts[counts.tunnels % egressPorts.length] ?? 0;
    const opened = await tunnel(port, basic(runner.id, credential), site).catch(() => null);
    if (opened === null || isAnswer(opened)) counts.refusedTunnels += 1;
    else {
      counts.tunnels += 1;
      tunnels.set(
        runner.id,
        opened.on('error', () => {}),
      );
    }
  };
  const report = async (runner: FakeRunner) => {
    const given = runner.redeemed;
    if (given === null || runner.exited !== null) return;
    if (!tunnels.has(runner.id)) await open(runner, given.egress_credential);
    const events = Array.from({ length: CALLS_A_REPORT }, () => ({
      id: randomUUID(),
      age_ms: 0,
      kind: 'tool.call',
      data: { tool: 'browser_navigate', duration_ms: 120, outcome: 'ok' },
    }));
    const answers = await Promise.all([
      runner.report('runner-activity', { calls: CALLS_A_REPORT }).catch(() => null),
      runner.report('runner-events', { events }).catch(() => null),
    ]);
    counts.reports += answers[0]?.ok ? 1 : 0;
    counts.events += answers[1]?.ok ? CALLS_A_REPORT : 0;
    counts.refusedReports += answers.filter(each => !each?.ok).length;
  };
  // spread over the period: a fifteenth of the runners each second
  let turn = 0;
  const timer = setInterval(() => {
    turn += 1;
    let index = 0;
    for (const runner of all.values())
      if (index++ % ACTIVITY_REPORT_SECONDS === turn % ACTIVITY_REPORT_SECONDS) void report(runner);
  }, 1_000);
  return {
    all,
    counts,
    kill(ids) {
      for (const id of ids) all.get(id)?.kill();
    },
    async stop() {
      clearInterval(timer);
      await informer.stop();
      for (const runner of all.values()) runner.kill();
    },
  };
}
