import { expect, test } from 'vitest';
import type { RedeemAnswer } from '../../../contract/assignment.ts';
import { OmicronError, type ProblemCode } from '../../../contract/problem.ts';
import { redeemAssignment } from '../../../runner/lease/redeem.ts';
import type { ControllerClient } from '../../../runner/reporting/controller-client.ts';
import { type SteppedClock, steppedClock } from '../../fakes/clock.ts';

const answer: RedeemAnswer = {
  secrets: {},
  sites: [],
  egress_credential: 'egress',
  upload_credential: 'upload',
  policy: { version: '1', layers: [] },
  lease_token: 'lease',
  artifact_token: 'artifact',
  remaining_ms: 5_000,
};
const never = new AbortController().signal;
const refused = (code: ProblemCode, retryAfterSeconds?: number) =>
  new OmicronError(code, 'not yet', retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

/** A controller that refuses with these errors, then answers. */
function controller(errors: () => OmicronError | undefined): Pick<ControllerClient, 'redeem'> {
  return {
    async redeem() {
      const error = errors();
      if (error !== undefined) throw error;
      return answer;
    },
  };
}
const after = (...errors: OmicronError[]) => controller(() => errors.shift());
const run = (from: Pick<ControllerClient, 'redeem'>, clock: SteppedClock, signal = never) =>
  redeemAssignment(from, 'token', signal, clock);

test('a predecessor that drains is asked for every quarter of a second, whatever whole seconds the broker names', async () => {
  const clock = steppedClock();
  const draining = () => refused('predecessor_draining', 1);
  const redeemed = await run(after(draining(), draining(), draining()), clock);
  expect(clock.waitedMs).toEqual([250, 250, 250]);
  expect(redeemed).toMatchObject({ leaseToken: 'lease', artifactToken: 'artifact', uploadCredential: 'upload' });
});

test("the lease's end counts from before the request that was answered", async () => {
  const clock = steppedClock();
  const redeemed = await run(after(refused('store_unavailable')), clock);
  expect(redeemed.endsAtMs).toBe(1_000 + (clock.waitedMs[0] ?? 0) + 5_000);
});

test('a controller that cannot be reached is tried again, ever more slowly, for a minute at most', async () => {
  const clock = steppedClock();
  await expect(
    run(
      controller(() => refused('store_unavailable')),
      clock,
    ),
  ).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(clock.waitedMs.slice(0, 5)).toEqual([100, 200, 400, 800, 1_000]);
  expect(clock.nowMs()).toBeGreaterThan(60_000);
  expect(clock.nowMs()).toBeLessThan(61_000);
});

test('each try of one redemption has the same key, and another redemption another one', async () => {
  const keys: string[] = [];
  const losing = (lost: number): Pick<ControllerClient, 'redeem'> => ({
    async redeem(_token, key) {
      keys.push(key);
      if (keys.length <= lost) throw refused('controller_unreachable');
      return answer;
    },
  });
  await run(losing(2), steppedClock());
  await run(losing(0), steppedClock());
  expect(new Set(keys.slice(0, 3)).size).toBe(1);
  expect(new Set(keys).size).toBe(2);
});

test('any other refusal is final', async () => {
  const clock = steppedClock();
  await expect(run(after(refused('redemption_refused')), clock)).rejects.toMatchObject({ code: 'redemption_refused' });
  expect(clock.waitedMs).toEqual([]);
});

test('a runner that stops while it asks for the first time refuses the assignment', async () => {
  const stop = new AbortController();
  const asking: Pick<ControllerClient, 'redeem'> = {
    async redeem(_token, _key, signal) {
      stop.abort();
      throw signal.reason;
    },
  };
  await expect(run(asking, steppedClock(), stop.signal)).rejects.toMatchObject({ code: 'assignment_refused' });
});

test('a runner that stops meanwhile gives up with the last refusal', async () => {
  const stop = new AbortController();
  const refusing = controller(() => {
    stop.abort();
    return refused('predecessor_draining');
  });
  await expect(run(refusing, steppedClock(), stop.signal)).rejects.toMatchObject({ code: 'predecessor_draining' });
});
