import * as z from 'zod';
import type { EndReason } from '../../contract/session.ts';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';
import { type RunnerRow, takenRow } from './rows.ts';

/** A row that a worker took, and how long ago it was launched then by the database's clock, from which this process's may differ. */
export type TakenRow = RunnerRow & { readonly launchedForMs: number };

/** The part of a runner's row that says whose it is. */
export type LivingRunner = Pick<RunnerRow, 'id' | 'session_id' | 'state'>;

/** Rows of runners: intent before effect, forward only. Safe on several replicas at once. */
export interface Fleet {
  /**
   * Writes intents until `idle` unleased runners of this template exist, at most `burst`; drains surplus runners.
   * Returns the number of intents.
   */
  plan(provider: string, template: string, idle: number, burst: number): Promise<number>;
  /** Warm runners that the leases of late ask for, and runners that start for a lease already. */
  demand(provider: string): Promise<{ runners: number; awaited: number }>;
  /** Rows to launch or drain that no worker holds; this worker holds them for `workSeconds`. */
  take(provider: string, state: 'creating' | 'draining', most: number, workSeconds: number): Promise<TakenRow[]>;
  /** Holds launches for as long again; see `take`. */
  keep(runnerIds: readonly string[], workSeconds: number): Promise<void>;
  /** Null: it is not wanted any more and must be removed. */
  markUp(runnerId: string, bootId: string, endpoint: string): Promise<'warm' | 'claimed' | null>;
  /**
   * `ended`: its process is known to have ended. `leaving`: it is on its way out and may still act. `not_started`:
   * its launch was given up; does nothing once it came up. Its lease, if it lives, becomes an error; `expired`: its
   * time was over, and it ended. `leaving`: its lease has some seconds to be hibernated; call again.
   */
  markLost(
    runnerId: string,
    how: 'ended' | 'leaving' | 'not_started',
    reason: EndReason,
    error: string,
  ): Promise<'lost' | 'expired' | 'leaving' | 'nothing'>;
  /** The runner said that it serves no agent any more. True: no runner may act in its epoch, nor in an earlier one. */
  markAcknowledged(runnerId: string): Promise<boolean>;
  /** Frees the permit; a recorded lease without a recording gets a recorded loss. */
  markGone(runnerId: string): Promise<void>;
  /** Ids of all runners that are not gone, of every provider: those that hold a permit, which no report writes to. */
  held(): Promise<string[]>;
  /** Rows that are not gone, of all runners or of these; read after the provider's list, or fresh runners look like orphans. */
  living(provider: string, runnerIds?: readonly string[]): Promise<LivingRunner[]>;
}

const demand = z.object({ runners: z.int(), awaited: z.int() });
const lost = z.enum(['lost', 'expired', 'leaving', 'nothing']).nullable();

/** `graceSeconds`: how long a runner that is leaving may take to hibernate its session; 0: it does not. */
export function sqlFleet(database: Database, { graceSeconds = 0 } = {}): Fleet {
  return {
    async plan(provider, template, idle, burst) {
      const pool = { p_provider: provider, p_template: template, p_idle: idle, p_burst: burst };
      return z.int().parse(await callFunction(database, 'plan_pool', pool));
    },
    demand: async provider => demand.parse(await callFunction(database, 'pool_demand', { p_provider: provider })),
    async take(provider, state, most, workSeconds) {
      const work = { p_provider: provider, p_state: state, p_most: most, p_work_seconds: workSeconds };
      const rows = z.array(takenRow).parse(await callRows(database, 'take_work', work));
      return rows.map(row => ({
        ...row,
        launchedForMs: row.work_until.getTime() - workSeconds * 1_000 - (row.launched_at ?? row.created_at).getTime(),
      }));
    },
    async keep(runnerIds, workSeconds) {
      await callFunction(database, 'keep_work', { p_runners: runnerIds, p_work_seconds: workSeconds });
    },
    async markUp(runnerId, bootId, endpoint) {
      const up = { p_runner: runnerId, p_boot: bootId, p_endpoint: endpoint };
      return z
        .enum(['warm', 'claimed'])
        .nullable()
        .parse(await callFunction(database, 'runner_up', up));
    },
    async markLost(runnerId, how, reason, error) {
      const loss = { p_runner: runnerId, p_how: how, p_reason: reason, p_error: error, p_grace_seconds: graceSeconds };
      // Null: claimed between two reads; its session is known now, so the second call finds the right lock.
      for (;;) {
        const outcome = lost.parse(await callFunction(database, 'runner_lost', loss));
        if (outcome !== null) return outcome;
      }
    },
    markAcknowledged: async runnerId =>
      z.boolean().parse(await callFunction(database, 'drain_acknowledged', { p_runner: runnerId })),
    async markGone(runnerId) {
      await callFunction(database, 'runner_gone', { p_runner: runnerId });
    },
    async held() {
      const rows = await database.query<{ id: string }>(
        'select runner_id as id from omicron.permits where runner_id is not null',
      );
      return rows.map(({ id }) => id);
    },
    living: async (provider, runnerIds) => {
      // three columns, and not parsed: every loop that looks at all runners reads these rows, 5,000 of them
      const living = `select id, session_id, state from omicron.runners where provider = $1 and state <> 'gone'`;
      return runnerIds === undefined
        ? database.query<LivingRunner>(living, [provider])
        : database.query<LivingRunner>(`${living} and id = any($2)`, [provider, runnerIds]);
    },
  };
}
