import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { TreeProcess } from '../../../process/process-tree.ts';
import { watchMemory } from '../../../runner/browser/memory-watch.ts';
import { steppedClock } from '../../fakes/clock.ts';

const LIMITS = { memoryBytes: 1_200, rendererBytes: 600, sharedBytes: 600 };
const LOOK_MS = 250;

/** A browser whose processes a test sets: the shared ones, and renderers by their ids. */
function browserUnderTest() {
  const clock = steppedClock();
  const abort = new AbortController();
  const renderers = new Map<number, number>();
  const stops: (number | 'browser')[] = [];
  const under = { shared: 200, renderers, stops };
  const process = (pid: number, isRenderer: boolean, bytes: number): TreeProcess => ({
    ...{ pid, isRenderer, bytes, cpuMs: 0 },
  });
  const watched = watchMemory({
    look: async () => [
      process(1, false, under.shared),
      ...[...renderers].map(([pid, bytes]) => process(pid, true, bytes)),
    ],
    limits: LIMITS,
    clock,
    signal: abort.signal,
    stop: verdict => stops.push(verdict.stop === 'browser' ? 'browser' : verdict.pid),
  });
  return Object.assign(under, {
    /** `each` is called before each look. */
    async pass(seconds: number, each: () => void = () => undefined) {
      for (let ms = 0; ms < seconds * 1_000; ms += LOOK_MS) {
        each();
        clock.advance(LOOK_MS);
        for (let turn = 0; turn < 4; turn += 1) await tick();
      }
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await watched;
    },
  });
}

test('tabs that a page opens faster than one in 1.5 s could be stopped do not take the browser', async () => {
  await using under = browserUnderTest();
  let pid = 100;
  under.renderers.set(pid, 60);
  await under.pass(30, () => {
    for (const stopped of under.stops) under.renderers.delete(Number(stopped));
    for (let popups = 0; popups < 5; popups += 1) under.renderers.set(++pid, 60);
  });
  expect(under.stops).not.toContain('browser');
  const taken = [...under.renderers.values()].reduce((sum, bytes) => sum + bytes, under.shared);
  expect(taken).toBeLessThan(LIMITS.memoryBytes + 5 * 60);
});

test('only as many tabs are stopped as have to be', async () => {
  await using under = browserUnderTest();
  await under.pass(1);
  for (let pid = 100; pid < 120; pid += 1) under.renderers.set(pid, pid === 110 ? 70 : 60);
  await under.pass(1);
  // 1,410 in all: 70, 60, 60 and 60 less.
  expect(under.stops).toHaveLength(4);
  expect(under.stops[0]).toBe(110);
});

test('memory that a stopped tab holds in shared processes is freed before another tab is stopped', async () => {
  await using under = browserUnderTest();
  await under.pass(1);
  under.shared = 500;
  for (const pid of [100, 101, 102]) under.renderers.set(pid, 300);
  await under.pass(1);
  expect(under.stops).toEqual([100]);
  under.renderers.delete(100);
  under.shared = 200;
  await under.pass(20);
  expect(under.stops).toEqual([100]);
});

test('the browser ends when it takes too much whatever is stopped', async () => {
  await using under = browserUnderTest();
  await under.pass(1);
  under.shared = 590;
  let pid = 100;
  await under.pass(12, () => {
    for (const stopped of under.stops) under.renderers.delete(Number(stopped));
    while (under.renderers.size < 2) under.renderers.set(++pid, 320);
  });
  expect(under.stops.at(-1)).toBe('browser');
});
