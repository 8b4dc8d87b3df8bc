import { expect, test } from 'vitest';
import { waitUntilAbandoned } from '../../../runner/reporting/abandoned.ts';
import { steppedClock } from '../../fakes/clock.ts';

const never = new AbortController().signal;
const base = { isUnleased: () => true, everyMs: 15_000, goneAfterMs: 120_000, signal: never };

/** Passes each wait between two pings at once. */
function pings(answer: (count: number) => boolean) {
  const clock = steppedClock();
  const atMs: number[] = [];
  const ping = async () => {
    atMs.push(clock.nowMs());
    queueMicrotask(() => setImmediate(() => clock.advance(15_000)));
    if (!answer(atMs.length)) throw new Error('connection refused');
  };
  return { clock, ping, atMs };
}

test('an unleased runner ends when its controller is gone', async () => {
  const { clock, ping, atMs } = pings(count => count <= 3);
  expect(await waitUntilAbandoned({ ...base, clock, ping })).toBe(true);
  // Three answers, then it is asked for two minutes more before it is given up.
  expect(atMs).toHaveLength(12);
  expect((atMs.at(-1) ?? 0) - (atMs[2] ?? 0)).toBe(135_000);
});

test('a controller that comes back in time keeps it', async () => {
  const stop = new AbortController();
  const { clock, ping, atMs } = pings(count => {
    if (count > 20) stop.abort();
    return count % 3 === 0;
  });
  expect(await waitUntilAbandoned({ ...base, clock, signal: stop.signal, ping })).toBe(false);
  expect(atMs).toHaveLength(21);
});

test('a lease has an end of its own: a leased runner is not judged', async () => {
  const { clock, ping, atMs } = pings(() => false);
  expect(await waitUntilAbandoned({ ...base, clock, goneAfterMs: 0, isUnleased: () => atMs.length < 1, ping })).toBe(
    false,
  );
  expect(atMs).toHaveLength(1);
});
