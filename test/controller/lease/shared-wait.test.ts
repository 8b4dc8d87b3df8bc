import { expect, it } from 'vitest';
import { SharedWait } from '../../../controller/lease/shared-wait.ts';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** A wait for keys, which a test marks as found; `advance` passes the rest after a look. */
function shared() {
  const clock = steppedClock();
  const found = new Map<string, number | null>();
  const looks: string[][] = [];
  const state = { failure: undefined as Error | undefined };
  const wait = new SharedWait<number | null>(async keys => {
    looks.push([...keys]);
    if (state.failure) throw state.failure;
    return found;
  }, clock);
  const advance = async (ms: number) => {
    await eventually('a rest', () => clock.idleMs().length === 1);
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { clock, found, looks, state, wait, advance };
}

it('reads all keys in one look, and each waiter goes on when its own key is found', async () => {
  const { found, looks, wait, advance } = shared();
  const [one, other, missing] = ['a', 'a', 'b'].map(key => wait.wait(key, neverAborts()));
  await advance(25);
  expect(looks.at(-1)).toEqual(['a', 'b']);
  found.set('a', 7);
  await advance(250);
  expect(await Promise.all([one, other])).toEqual([7, 7]);
  found.set('b', null); // it has no row, and is not awaited either
  await advance(250);
  expect(await missing).toBeNull();
  expect(looks.at(-1)).toEqual(['b']);
});

it('looks no more once no one waits, and again for the next', async () => {
  const { clock, found, looks, wait } = shared();
  const over = new AbortController();
  const left = wait.wait('a', over.signal);
  over.abort(new Error('the claim has ended'));
  await expect(left).rejects.toThrow('the claim has ended');
  await new Promise(setImmediate);
  const before = looks.length;
  expect(clock.idleMs()).toEqual([]);
  found.set('b', 1);
  expect(await wait.wait('b', neverAborts())).toBe(1);
  expect(looks.slice(before)).toEqual([['b']]);
});

it('a thousand who wait cost four looks a second, one of them one look each 25 to 250 ms', async () => {
  const { clock, looks, wait, advance } = shared();
  for (let n = 0; n < 1_000; n++) void wait.wait(`${n}`, neverAborts());
  await advance(250);
  const [beganMs, before] = [clock.nowMs(), looks.length];
  for (let round = 0; round < 20; round++) await advance(Math.max(...clock.idleMs(), 1));
  const aSecond = ((looks.length - before) * 1_000) / (clock.nowMs() - beganMs);
  expect(aSecond).toBeLessThanOrEqual(4.1);

  const alone = shared();
  void alone.wait.wait('a', neverAborts());
  const rests: number[] = [];
  for (let round = 0; round < 20; round++) {
    await eventually('a rest', () => alone.clock.idleMs().length === 1);
    rests.push(...alone.clock.idleMs());
    await alone.advance(Math.max(...alone.clock.idleMs()));
  }
  expect(Math.min(...rests)).toBeGreaterThan(0);
  expect(rests.at(-1)).toBeLessThanOrEqual(250);
});

it('looks at once for one who comes while it rests', async () => {
  const { clock, found, looks, wait, advance } = shared();
  void wait.wait('a', neverAborts());
  while (Math.max(...clock.idleMs(), 0) <= 100) await advance(Math.max(...clock.idleMs(), 1));
  found.set('b', 3);
  expect(await wait.wait('b', neverAborts())).toBe(3);
  expect(looks.at(-1)).toEqual(['a', 'b']);
});

it('fails for those who waited, and looks again for the next', async () => {
  const { found, state, wait, advance } = shared();
  const failed = Promise.allSettled([wait.wait('a', neverAborts()), wait.wait('b', neverAborts())]);
  state.failure = new Error('away');
  await advance(25);
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  state.failure = undefined;
  found.set('a', 2);
  expect(await wait.wait('a', neverAborts())).toBe(2);
});
