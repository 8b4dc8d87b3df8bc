import { setTimeout as sleep } from 'node:timers/promises';
import type { RedeemAnswer } from '../../contract/assignment.ts';
import type { OmicronError } from '../../contract/problem.ts';
import { OmicronError as Problem } from '../../contract/problem.ts';
import { controllerKeys } from '../../contract/tokens.ts';
import type { ProviderContext, RunnerProvider } from '../../controller/ports/runners.ts';
import type { McpEndpoint } from '../../runner/mcp/endpoint.ts';
import { eventually } from '../eventually.ts';
import { FakeRunner, type Point } from './runner.ts';

type Failures = Record<'warm' | 'assign' | 'redeemed' | 'remove', OmicronError[]>;

/** One machine full of runners that any number of controllers share, as processes or pods are shared. */
export interface FakeMachine {
  /** Those that exist: running, or ended and not yet removed. */
  readonly runners: ReadonlyMap<string, FakeRunner>;
  /** Every runner that was ever created, in order. */
  readonly created: readonly string[];
  /** The runners that `create` makes now; another one makes warm runners stale. */
  template: string;
  /** How long a runner takes to become warm. */
  warmMs: number;
  /** Makes what a lease serves at `/mcp`. */
  mcp: (() => McpEndpoint) | undefined;
  /** How long a runner tries to redeem while the answer is to try later. */
  redeemPatienceMs: number;
  /** The provider of one controller process on this machine. */
  provider(context: Pick<ProviderContext, 'controllerUrl' | 'jwks' | 'onChange'>): RunnerProvider;
  /** The next runner fails there: it never becomes warm, refuses its assignment, cannot serve what it redeemed, or cannot be removed yet. */
  failNext(error: OmicronError, at?: keyof Failures): void;
  /** Holds every runner at a point until the answer is called. */
  hold(point: Point): () => void;
  /** The runner, which must exist. */
  runner(id: string | null | undefined): FakeRunner;
  /** The runner of that session, or of the only one, and what it was given; it may still read that when its lease is ready. */
  leased(sessionId?: string): Promise<{ runner: FakeRunner; given: RedeemAnswer }>;
  close(): void;
}

const LOOK_AGAIN_MS = 10;

export function fakeMachine(): FakeMachine {
  const runners = new Map<string, FakeRunner>();
  const created: string[] = [];
  const failures: Failures = { warm: [], assign: [], redeemed: [], remove: [] };
  const gates = new Map<Point, Promise<void>>();
  const pass = (point: Point) => gates.get(point) ?? Promise.resolve();

  const deathOf = (id: string): string | null => {
    const runner = runners.get(id);
    return runner?.exited === null
      ? null
      : `The runner's process ended (${runner?.exited ?? 'cause unknown'}). Request a new lease.`;
  };

  const machine: FakeMachine = {
    runners,
    created,
    template: 't1',
    warmMs: 0,
    mcp: undefined,
    redeemPatienceMs: 5_000,
    failNext: (error, at = 'warm') => void failures[at].push(error),
    hold(point) {
      const { promise, resolve } = Promise.withResolvers<void>();
      gates.set(point, promise);
      return () => {
        gates.delete(point);
        resolve();
      };
    },
    runner(id) {
      const runner = runners.get(id ?? '');
      if (!runner) throw new Error(`no runner ${id} on this machine`);
      return runner;
    },
    leased: sessionId =>
      eventually('a runner that has redeemed', () => {
        const found = [...runners.values()].find(
          each => each.redeemed !== null && (sessionId === undefined || each.assignment?.session_id === sessionId),
        );
        return found?.redeemed && { runner: found, given: found.redeemed };
      }),
    close() {
      for (const runner of runners.values()) runner.kill();
      runners.clear();
    },
    provider: ({ controllerUrl, jwks, onChange }) => ({
      name: 'local',
      capabilities: { holdsSiteRules: true, keepsBrowserFiles: true, launchesAtOnce: 8 },
      templateDigest: async () => machine.template,
      async create(id) {
        const url = await controllerUrl;
        if (runners.has(id)) return;
        const runner = new FakeRunner({
          id,
          keys: controllerKeys(jwks),
          controllerUrl: () => url,
          pass,
          nextFailure: at => failures[at].shift(),
          patienceMs: machine.redeemPatienceMs,
          onExit: () => onChange(id),
          mcp: machine.mcp,
        });
        runners.set(id, runner);
        created.push(id);
        await runner.listen();
        const started = machine.warmMs === 0 ? pass('warm') : sleep(machine.warmMs, undefined, { ref: false });
        void started.then(() => {
          runner.failure = failures.warm.shift();
          runner.phase = runner.failure ? 'failed' : 'warm';
        });
      },
      async whenWarm(id, signal) {
        for (;;) {
          signal.throwIfAborted();
          const death = deathOf(id);
          if (death !== null) throw new Problem('runner_start_failed', death);
          const runner = machine.runner(id);
          if (runner.phase === 'warm') return { bootId: runner.bootId, endpoint: runner.endpoint };
          if (runner.phase === 'failed') throw runner.failure;
          await sleep(LOOK_AGAIN_MS, undefined, { signal });
        }
      },
      async deathOf(id) {
        const reason = deathOf(id);
        return reason === null ? null : { ended: true, reason };
      },
      async remove(id) {
        const runner = runners.get(id);
        if (!runner) return 'gone';
        if (gates.has('remove')) return 'deleting';
        if (runner.exited === null) {
          runner.stop();
          return 'deleting';
        }
        if (!runner.upload()) return 'deleting';
        const failure = failures.remove.shift();
        if (failure) throw failure;
        runners.delete(id);
        return 'gone';
      },
      addressOf: ({ endpoint }) => ({ mcpUrl: `${endpoint}/mcp`, workload: null }),
      markLeased: () => undefined,
      list: async () => [...runners.keys()],
    }),
  };
  return machine;
}
