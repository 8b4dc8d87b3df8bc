import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import type { Fleet } from '../ports/fleet.ts';
import { runnerRow } from '../ports/rows.ts';
import { call, callSet } from './call.ts';

const lost = z.enum(['lost', 'expired', 'nothing']).nullable();

export function sqlFleet(database: Database): Fleet {
  return {
    plan: async (provider, template, idle, burst) =>
      z.int().parse(await call(database, 'plan_pool', provider, template, idle, burst)),
    take: async (provider, state, most, workSeconds) =>
      z.array(runnerRow).parse(await callSet(database, 'take_work', provider, state, most, workSeconds)),
    up: async (runnerId, bootId, endpoint) =>
      z
        .enum(['warm', 'claimed'])
        .nullable()
        .parse(await call(database, 'runner_up', runnerId, bootId, endpoint)),
    async lost(runnerId, how, reason, error) {
      // Null: claimed between two reads; its session is known now, so the second call finds the right lock.
      for (;;) {
        const outcome = lost.parse(await call(database, 'runner_lost', runnerId, how, reason, error));
        if (outcome !== null) return outcome;
      }
    },
    async acknowledged(runnerId) {
      await call(database, 'drain_acknowledged', runnerId);
    },
    async gone(runnerId) {
      await call(database, 'runner_gone', runnerId);
    },
    living: async provider => {
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(r) as row from omicron.runners r where provider = $1 and state <> 'gone'`,
        [provider],
      );
      return rows.map(({ row }) => runnerRow.parse(row));
    },
  };
}
