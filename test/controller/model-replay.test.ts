import { describe, expect, test } from 'vitest';
import { SMALL, type World } from '../model/world.ts';
import { freshPostgres } from '../postgres.ts';
import { Drift, replay } from './model-replay.ts';
import { weaken } from './weaken.ts';

const HIBERNATES = { callers: 1, pool: 0, hibernates: true, warm: 2, runners: 3, permits: 3, epochs: 5 };
const LINE = { line: true, callers: 3, sessions: 3, quota: 3, permits: 1, runners: 3, pool: 0, epochs: 6 };
const WORLDS: [title: string, world: World, seed: number][] = [
  ['cold starts', { ...SMALL, epochs: 5 }, 7],
  ['warm starts', { ...SMALL, warm: 2, runners: 3, permits: 3, epochs: 5 }, 2],
  ['a single permit', { ...SMALL, permits: 1, epochs: 5 }, 3],
  ['two sessions of a user whose quota is one', { ...SMALL, sessions: 2, epochs: 4, runners: 3, permits: 3 }, 4],
  ['leases that are hibernated', { ...SMALL, ...HIBERNATES }, 2],
  ['a line of callers', { ...SMALL, ...LINE }, 5],
  ['a line of callers of a user who has sessions', { ...SMALL, ...LINE, callers: 4, permits: 2, quota: 2 }, 6],
];

/** Kinds of steps that the functions do. */
const SQL_KINDS = [
  ...[
    'acquire',
    'claim',
    'inherit',
    'beat',
    'fail',
    'beginAssign',
    'redeem',
    'redeemReady',
    'refused',
    'ready',
    'DELETE',
    'heartbeat',
  ],
  ...['activity', 'acknowledged', 'stuck', 'expire', 'pool', 'up', 'lost', 'suspected', 'gone', 'hibernate', 'forget'],
  ...['joins', 'turned', 'crowded', 'hangsUp', 'goesAway'],
];

describe('walks through the model, done with the SQL functions', () => {
  test('end in the same rows and answers, and take every kind of step', async () => {
    const taken = new Set<string>();
    for (const [title, world, seed] of WORLDS) {
      const kinds = await replay(await freshPostgres(), world, { seed, steps: 400, length: 100 });
      console.log(`${title}: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')}`);
      for (const kind of kinds.keys()) taken.add(kind);
    }
    expect(SQL_KINDS.filter(kind => !taken.has(kind))).toEqual([]);
  }, 180_000);

  // seeds of walks that soon come to where it shows
  test.each([
    ['may_act', 'deadline_at > clock_timestamp()', 'false', /must wait for its predecessor/, 13],
    ['end_lease', "perform omicron.close_lease(s, 'ended', p_reason, null, v_until);", '', /status/, 1],
    [
      'report_activity',
      'deadline_at = greatest(deadline_at, s.expires_at)',
      'deadline_at = deadline_at',
      /deadline/,
      1,
    ],
    ['redeem', 'greatest(deadline_at, s.expires_at)', 'coalesce(deadline_at, s.expires_at)', /deadline/, 18],
    ['join_line', '> v_turn then', '>= v_turn then', /answer/, 1],
    ['line_turns', 'inline.turn > v_free', 'inline.turn >= v_free', /the line calls/, 1],
    ['redeem', " and not (v_again and s.status = 'ready')", '', /answer/, 3],
  ])(
    'differ when %s no longer does: %s',
    async (name, from, to, difference, seed) => {
      const database = await freshPostgres();
      await weaken(database, name, from, to);
      const world = { ...SMALL, ...(name.includes('line') ? LINE : { warm: 2, runners: 3, permits: 3, epochs: 5 }) };
      const drift = await replay(database, world, { seed, steps: 600, length: 100 }).catch((error: unknown) => error);
      expect(drift).toBeInstanceOf(Drift);
      expect(String(drift)).toMatch(difference);
    },
    120_000,
  );
});
