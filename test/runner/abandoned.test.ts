import { expect, test } from 'vitest';
import { abandoned } from '../../runner/reporting/abandoned.ts';

const never = new AbortController().signal;
const base = { isUnleased: () => true, everyMs: 5, goneAfterMs: 60, signal: never };

test('a runner that nobody leased ends when its controller is gone for good', async () => {
  let answers = 3;
  const ping = async () => {
    answers -= 1;
    if (answers < 0) throw new Error('connection refused');
  };
  expect(await abandoned({ ...base, ping })).toBe(true);
  expect(answers).toBeLessThan(-1); // it was asked again before it was given up
});

test('a controller that comes back in time keeps it', async () => {
  let asked = 0;
  const stop = new AbortController();
  const ping = async () => {
    asked += 1;
    if (asked > 20) stop.abort();
    if (asked % 3) throw new Error('restarting');
  };
  expect(await abandoned({ ...base, goneAfterMs: 10_000, signal: stop.signal, ping })).toBe(false);
});

test('a lease has an end of its own: a leased runner is not judged', async () => {
  let asked = 0;
  const ping = async () => {
    asked += 1;
    throw new Error('partitioned');
  };
  expect(await abandoned({ ...base, goneAfterMs: 0, isUnleased: () => asked < 1, ping })).toBe(false);
});
