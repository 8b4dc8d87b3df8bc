import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Loop, loop } from '../../../controller/loops/loop.ts';
import { Wake } from '../../../controller/wake.ts';
import { eventually } from '../../eventually.ts';
import { type SteppedClock, steppedClock } from '../../fakes/clock.ts';

/** A loop of every minute, whose runs a test ends; it is stopped with the test. */
function stepped() {
  const clock = steppedClock(0.5);
  const wake = new Wake();
  const logged: string[] = [];
  const runs: PromiseWithResolvers<void>[] = [];
  const each = loop({
    name: 'test',
    everyMs: 60_000,
    wake,
    clock,
    log: pino({}, { write: line => void logged.push(line) }),
    runOnce() {
      const run = Promise.withResolvers<void>();
      runs.push(run);
      return run.promise;
    },
  });
  onTestFinished(() => {
    for (const run of runs) run.resolve();
    return each.stop();
  });
  return { each, clock, wake, runs, logged };
}

const pauses = (clock: SteppedClock) => eventually('a pause', () => clock.idleMs().length === 1);
const ended = async (stopping: ReturnType<Loop['stop']>) => {
  let isEnded = false;
  void stopping.then(() => {
    isEnded = true;
  });
  await new Promise(resolve => setImmediate(resolve));
  return isEnded;
};

describe('a loop', () => {
  it('runs at once, then at its interval', async () => {
    const { each, clock, runs } = stepped();
    each.start();
    expect(runs).toHaveLength(1);
    runs[0]?.resolve();
    await pauses(clock);
    expect(clock.idleMs()).toEqual([60_000]);
    clock.advance(59_999);
    expect(runs).toHaveLength(1);
    clock.advance(1);
    await eventually('a second run', () => runs.length === 2);
  });

  it('goes on after a failure', async () => {
    const { each, clock, runs, logged } = stepped();
    each.start();
    runs[0]?.reject(new Error('once'));
    await pauses(clock);
    expect(logged.join('')).toContain('loop failed; continuing');
    clock.advance(60_000);
    await eventually('a second run', () => runs.length === 2);
  });

  it('runs at once when it is woken in its pause, and once more when it is woken during a run', async () => {
    const { each, clock, wake, runs } = stepped();
    each.start();
    runs[0]?.resolve();
    await pauses(clock);
    wake.kick();
    await eventually('a second run', () => runs.length === 2);
    wake.kick();
    wake.kick();
    runs[1]?.resolve();
    await eventually('a third run', () => runs.length === 3);
    runs[2]?.resolve();
    await pauses(clock);
    expect(runs).toHaveLength(3);
  });

  it('stops when its work has ended, and is not woken after that', async () => {
    const { each, wake, runs } = stepped();
    each.start();
    const stopping = each.stop();
    expect(await ended(stopping)).toBe(false);
    runs[0]?.resolve();
    await stopping;
    wake.kick();
    await new Promise(resolve => setImmediate(resolve));
    expect(runs).toHaveLength(1);
  });

  it('stops at once in its pause', async () => {
    const { each, clock, runs } = stepped();
    each.start();
    runs[0]?.resolve();
    await pauses(clock);
    await each.stop();
    expect(clock.idleMs()).toEqual([]);
    expect(runs).toHaveLength(1);
  });
});
