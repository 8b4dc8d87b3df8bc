import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OmicronError } from '../../../contract/problem.ts';
import { leaseClock, nextReportMs } from '../../../runner/reporting/lease-clock.ts';
import { type SteppedClock, steppedClock } from '../../fakes/clock.ts';

/** A lease with this many milliseconds left, and a controller that each activity report asks what is left. */
function lease(endsInMs: number) {
  const clock = steppedClock();
  const reports: { calls: number; atMs: number }[] = [];
  const ends: string[] = [];
  const controller = {
    remainingMs: endsInMs,
    /** Fails the next reports with these errors. */
    failures: [] as OmicronError[],
    /** While it is cut off no report is answered. */
    cut: false,
    async activity(_token: string, calls: number, signal: AbortSignal) {
      if (controller.cut)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
      const failure = controller.failures.shift();
      if (failure !== undefined) throw failure;
      reports.push({ calls, atMs: clock.nowMs() });
      return { remainingMs: controller.remainingMs, policyVersion: '1', heldMs: 0 };
    },
  };
  const lifetime = leaseClock({
    controller,
    leaseToken: 'token',
    endsAtMs: clock.nowMs() + endsInMs,
    clock,
    onEnd: reason => ends.push(reason),
    onPolicyVersion: () => undefined,
    debug: () => undefined,
  });
  return { clock, controller, reports, ends, lifetime };
}

/** Lets time pass in steps of 100 ms, so that every alarm rings close to its time. */
async function pass(clock: SteppedClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(Math.min(left, 100));
    await settled();
  }
}

test('hole 1: cut off from its controller it ends at its deadline, half a second early, under a running call too', async () => {
  const { clock, controller, ends, lifetime } = lease(4_000);
  controller.cut = true;
  lifetime.callStarted();
  await pass(clock, 3_400);
  expect([ends, lifetime.isOver()]).toEqual([[], false]);
  await pass(clock, 100);
  expect([ends, lifetime.isOver()]).toEqual([['the lease has expired'], true]);
});

test('every answer of the controller moves the deadline: a lease kept alive by calls lives on', async () => {
  const { clock, controller, reports, ends, lifetime } = lease(3_000);
  for (let n = 0; n < 20; n += 1) {
    const finished = lifetime.callStarted();
    await pass(clock, 300);
    finished();
  }
  expect([ends, lifetime.isOver()]).toEqual([[], false]);
  expect(reports.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(5);
  controller.remainingMs = 0;
  await pass(clock, 2_500);
  expect(ends).toEqual(['the lease has expired']);
});

test('hole 20: a call that runs longer than the lease has left counts as activity', async () => {
  const { clock, reports, ends, lifetime } = lease(3_000);
  const finished = lifetime.callStarted();
  await pass(clock, 6_000);
  finished();
  expect(ends).toEqual([]);
  expect(reports.filter(({ calls }) => calls > 0).length).toBeGreaterThan(2);
});

test('an idle runner asks without claiming calls, so that a heartbeat of the API is noticed', async () => {
  const { clock, controller, reports, ends } = lease(5_000);
  controller.remainingMs = 600_000;
  await pass(clock, 5_000);
  expect(reports).toHaveLength(1);
  expect(reports[0]?.calls).toBe(0);
  await pass(clock, 5_000);
  expect(ends).toEqual([]);
});

test('an outage shorter than the lease is survived: reports are repeated, and no call is lost or counted twice', async () => {
  const { clock, controller, reports, ends, lifetime } = lease(8_000);
  const away = () => new OmicronError('store_unavailable', 'away');
  controller.failures.push(away(), away(), away());
  lifetime.callStarted()();
  await pass(clock, 2_000);
  expect(reports.filter(({ calls }) => calls > 0)).toMatchObject([{ calls: 1 }]);
  expect(clock.waitedMs).toHaveLength(3);
  expect(ends).toEqual([]);
});

test.each(['lease_superseded', 'lease_ended', 'unauthorized', 'session_not_found', 'forbidden'] as const)(
  'a controller that answers %s ends the lease at once',
  async code => {
    const { clock, controller, ends, lifetime } = lease(8_000);
    controller.failures.push(new OmicronError(code, 'over'));
    lifetime.callStarted()();
    await pass(clock, 500);
    expect([ends, lifetime.isOver()]).toEqual([['the controller ended the lease: over'], true]);
  },
);

test('stopped, it reports nothing and ends nothing', async () => {
  const { clock, reports, ends, lifetime } = lease(3_000);
  lifetime.stop();
  await pass(clock, 5_000);
  expect([reports, ends]).toEqual([[], []]);
  expect(clock.idleMs()).toEqual([]);
});

test('reports are due every 15 s, at once when under 30 s are left and there were calls', () => {
  const at = (leftMs: number, calls: number, sinceMs = 0) =>
    nextReportMs({ now: 0, sentMs: -sinceMs, deadlineMs: leftMs, calls });
  expect(at(600_000, 5)).toBe(15_000);
  expect(at(600_000, 0)).toBe(15_000);
  expect(at(40_000, 0)).toBe(10_000);
  expect(at(29_000, 1, 5_000)).toBeLessThanOrEqual(0);
  expect(at(29_000, 1)).toBe(500);
  expect(at(29_000, 0)).toBe(14_500);
  expect(at(2_000, 0)).toBe(1_000);
});
