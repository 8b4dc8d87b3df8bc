import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { OmicronError } from '../../contract/problem.ts';
import { launchLoop } from '../../controller/loops/launch.ts';
import { loop } from '../../controller/loops/loop.ts';
import type { RunnerProvider } from '../../controller/ports/runners.ts';
import { Wake } from '../../controller/wake.ts';
import { realClock as clock } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

const STARTS = 300;
const AT_ONCE = 16;
/** Each runner needs this long; all of them, 16 at once, several times the time that one has. */
const NEEDS_MS = 150;
const START_MS = 1_000;

const log = pino({ level: 'silent' });

it('a backlog fails no start: of 300 starts, 16 at once, those fail whose runners do, and no other', {
  timeout: 60_000,
}, async () => {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: STARTS });
  await p.maintenance.setCapacity(STARTS);
  const claims = [];
  for (let n = 0; n < STARTS; n++) claims.push(await p.claim({ conversationId: `c${n}` }));
  const broken = new Set(claims.filter((_, n) => n % 100 === 50).map(({ runner }) => runner.id));

  let atOnce = 0;
  let most = 0;
  let failures = 0;
  const provider = {
    name: 'local',
    async create() {
      most = Math.max(most, ++atOnce);
    },
    async whenWarm(id: string, signal: AbortSignal) {
      await sleep(NEEDS_MS, undefined, { signal }).finally(() => atOnce--);
      if (broken.has(id)) throw new OmicronError('runner_start_failed', 'The disk is full.');
      return { bootId: randomUUID(), endpoint: 'http://runner' };
    },
  } as unknown as RunnerProvider; // the rest is not called
  const wake = new Wake();
  const launch = launchLoop({
    ...{ fleet: p.fleet, provider, startMs: START_MS, atOnce: AT_ONCE, onRoom: wake.kick, clock, log },
    onPart() {},
    onSuccess() {},
    onFailure() {
      failures += 1;
    },
  });
  const launching = loop({ name: 'launch', everyMs: 1_000, wake, runOnce: launch.runOnce, clock, log });
  const began = clock.nowMs();
  launching.start();
  const states = async () =>
    Object.fromEntries(
      (
        await database.query<{ state: string; n: number }>(
          `select state, count(*)::int as n from omicron.runners group by state`,
        )
      ).map(({ state, n }) => [state, n]),
    );
  const ended = await eventually(
    'every start has ended',
    async () => {
      const now = await states();
      return now.creating === undefined && now;
    },
    50_000,
  );
  const tookMs = clock.nowMs() - began;
  await launching.stop();
  await launch.stop();

  expect(tookMs).toBeGreaterThan(2 * START_MS); // a backlog, of more than the time of one
  expect(ended).toEqual({ claimed: STARTS - broken.size, draining: broken.size });
  expect(failures).toBe(broken.size);
  expect(most).toBe(AT_ONCE);
  const errors = await database.query<{ runner_id: string; error: string }>(
    `select runner_id, error from omicron.browser_sessions where status = 'error'`,
  );
  expect(new Set(errors.map(each => each.runner_id))).toEqual(broken);
  for (const { error } of errors) expect(error).toBe('The disk is full.');
});

it('a start waits for the launch of its runner for longer than it may take itself, and then has its whole time', async () => {
  const database = await freshPostgres();
  const p = protocol(database, { startSeconds: 120 });
  await p.maintenance.setCapacity(1);
  const claimed = await p.claim({ ttlSeconds: 3_000 });
  const { id } = claimed.session;
  await p.age(id, 300);
  expect(await p.leases.beat(p.claimOf(claimed))).toBe(true); // not launched yet: it waits in the queue
  expect(await p.maintenance.failStuckStarts(5)).toEqual([]);
  expect(await p.acquire()).toMatchObject({ outcome: 'starting', session: { epoch: 1 } });

  expect(await p.fleet.take('local', 'creating', 1, 20)).toMatchObject([{ launchedForMs: expect.closeTo(0, -2) }]);
  await p.age(id, 100);
  expect(await p.leases.beat(p.claimOf(claimed))).toBe(true);
  expect(await p.maintenance.failStuckStarts(5)).toEqual([]);
  await p.age(id, 21);
  expect(await p.leases.beat(p.claimOf(claimed))).toBe(false);
  expect(await p.maintenance.failStuckStarts(5)).toEqual([id]);
});

it('leaves a launch to its worker for as long as that holds it, and to another once it is silent', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.maintenance.setCapacity(2);
  const [slow, silent] = [await p.claim({ conversationId: 'slow' }), await p.claim({ conversationId: 'silent' })];
  const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
  const over = -1; // held until a second ago
  expect(ids(await p.fleet.take('local', 'creating', 2, over)).toSorted()).toEqual(
    [slow.runner.id, silent.runner.id].toSorted(),
  );
  await p.fleet.keep([slow.runner.id], 20);
  expect(ids(await p.fleet.take('local', 'creating', 2, 20))).toEqual([silent.runner.id]);
  expect(await p.fleet.take('local', 'creating', 2, 20)).toEqual([]);
});

it('holds no launch that is over: its runner is removed at once', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.maintenance.setCapacity(1);
  const { runner } = await p.claim();
  await p.fleet.take('local', 'creating', 1, 20);
  await p.fleet.markLost(runner.id, 'not_started', 'runner_start_failed', 'The disk is full.');
  await p.fleet.keep([runner.id], 20);
  expect(await p.fleet.take('local', 'draining', 1, 20)).toMatchObject([{ id: runner.id }]);
});
