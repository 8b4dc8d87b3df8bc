import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchRunnerMemory } from '../../../runner/browser/runner-memory.ts';
import { steppedClock } from '../../fakes/clock.ts';

const LIMIT = 1_000;

/** A process whose memory a test sets: what is used, and garbage beside it. */
function processUnderTest() {
  const clock = steppedClock();
  const abort = new AbortController();
  const memory = { used: 100, garbage: 0, collections: 0, closedMs: -Infinity };
  const stops: string[] = [];
  const watched = watchRunnerMemory({
    heldBytes: () => memory.used + memory.garbage,
    collectGarbage() {
      memory.garbage = 0;
      memory.collections += 1;
    },
    limitBytes: LIMIT,
    clock,
    signal: abort.signal,
    closedMs: () => memory.closedMs,
    stopLoudest() {
      stops.push('loudest');
      memory.closedMs = clock.nowMs();
    },
    endBrowser: () => stops.push('browser'),
  });
  return {
    clock,
    memory,
    stops,
    async pass(seconds: number) {
      for (let ms = 0; ms < seconds * 1_000; ms += 250) {
        clock.advance(250);
        await tick();
      }
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await watched;
    },
  };
}

test('garbage alone closes no tab', async () => {
  await using under = processUnderTest();
  under.memory.garbage = 5_000;
  await under.pass(2);
  expect(under.memory).toMatchObject({ garbage: 0, collections: 1 });
  expect(under.stops).toEqual([]);
});

test('the loudest tab is stopped, and no other while it is being freed', async () => {
  await using under = processUnderTest();
  under.memory.used = 1_200;
  await under.pass(1);
  expect(under.stops).toEqual(['loudest']);
  under.memory.used = 300;
  await under.pass(20);
  expect(under.stops).toEqual(['loudest']);
});

test('memory of a tab that was closed for another reason is freed before another tab is closed', async () => {
  await using under = processUnderTest();
  under.memory.used = 1_200;
  under.memory.closedMs = under.clock.nowMs();
  await under.pass(4);
  under.memory.used = 300;
  await under.pass(20);
  expect(under.stops).toEqual([]);
});

test('the browser ends when closing tabs does not help', async () => {
  await using under = processUnderTest();
  under.memory.used = 1_200;
  await under.pass(16);
  expect(under.stops.slice(0, 2)).toEqual(['loudest', 'loudest']);
  expect(under.stops.at(-1)).toBe('browser');
});
