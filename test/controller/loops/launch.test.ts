import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { launchLoop } from '../../../controller/loops/launch.ts';
import type { Database } from '../../../controller/ports/database.ts';
import type { RunnerProvider } from '../../../controller/ports/runners.ts';
import { sqlFleet } from '../../../controller/store/fleet.ts';
import { type SteppedClock, steppedClock } from '../../fakes/clock.ts';

const START_MS = 60_000;

/**
 * Launches a runner that needs `needsMs`, on a database whose clock differs by `aheadMs`; it was launched `agedMs` ago. `create`: what creates it.
 * Answers what is written.
 */
async function launch(
  { aheadMs, agedMs, needsMs }: Record<'aheadMs' | 'agedMs' | 'needsMs', number>,
  create: (clock: SteppedClock, signal: AbortSignal) => Promise<void> = async () => {},
) {
  const clock = steppedClock();
  const written: string[] = [];
  const id = randomUUID();
  const now = Date.now() + aheadMs;
  const database = {
    async query(sql: string, parameters: readonly unknown[] = []) {
      const step = /omicron\.(\w+)\(/.exec(sql)?.[1] ?? '';
      if (step !== 'take_work') written.push(step);
      if (step === 'runner_up') return [{ answer: 'warm' }];
      if (step === 'runner_lost') return [{ answer: 'nothing' }];
      return [
        {
          answer: {
            ...{
              id,
              provider: 'fake',
              template: 't',
              state: 'creating',
              boot_id: null,
              endpoint: null,
              session_id: null,
            },
            ...{
              epoch: null,
              assigned_at: null,
              redeemed_at: null,
              acknowledged_at: null,
              draining_at: null,
              reason: null,
            },
            created_at: new Date(now - 3_600_000).toISOString(),
            launched_at: new Date(now - agedMs).toISOString(),
            work_until: new Date(now + Number(parameters[3]) * 1_000).toISOString(),
          },
        },
      ];
    },
  } as unknown as Database; // the rest is not called
  const provider = {
    name: 'fake',
    create: (_id: string, signal: AbortSignal) => create(clock, signal),
    async whenWarm(_id: string, signal: AbortSignal) {
      await new Promise(setImmediate); // the deadline's own wait begins
      clock.advance(needsMs);
      await new Promise(setImmediate);
      signal.throwIfAborted();
      return { bootId: randomUUID(), endpoint: 'http://runner' };
    },
  } as unknown as RunnerProvider; // the rest is not called
  const fleet = sqlFleet(database);
  const log = pino({ level: 'silent' });
  const parts = {
    fleet,
    provider,
    startMs: START_MS,
    atOnce: 8,
    onRoom() {},
    onPart() {},
    onFailure() {},
    onSuccess() {},
    clock,
    log,
  };
  const loop = launchLoop(parts);
  await loop.runOnce();
  await expect.poll(() => written).toHaveLength(1);
  return written[0];
}

it.each([-300_000, 0, 300_000])(
  'gives a runner its time on a database whose clock is %i ms ahead, and no more to one that another replica took up before',
  async aheadMs => {
    expect(await launch({ aheadMs, agedMs: 1_000, needsMs: 50_000 })).toBe('runner_up');
    expect(await launch({ aheadMs, agedMs: 30_000, needsMs: 50_000 })).toBe('runner_lost');
  },
);

it('ends a creation that is not answered with the time of its start', async () => {
  const unanswered = async (clock: SteppedClock, signal: AbortSignal) => {
    await new Promise(setImmediate); // the deadline's own wait begins
    clock.advance(START_MS);
    await new Promise(setImmediate);
    signal.throwIfAborted();
    await new Promise(() => {}); // else without end
  };
  expect(await launch({ aheadMs: 0, agedMs: 0, needsMs: 0 }, unanswered)).toBe('runner_lost');
});
