import { expect, it } from 'vitest';
import { SharedWait } from '../../../controller/lease/shared-wait.ts';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { steppedClock } from '../../fakes/clock.ts';

const REST = { firstMs: 25, maxMs: 250, factor: 1.5, jitter: 0.4 };
const POLL_MS = 250;

/** A wait for keys, which a test marks as found; `advance` passes the rest after a look. */
function shared(rest = REST) {
  const clock = steppedClock();
  const found = new Map<string, number | null>();
  const looks: string[][] = [];
  const state = { failure: undefined as Error | undefined };
  const look = async (keys: readonly string[]) => {
    looks.push([...keys]);
    if (state.failure) throw state.failure;
    return found;
  };
  const shared = new SharedWait<number | null>({ look, rest, clock });
  const wait = (key: string, signal = neverAborts()) => shared.wait(key, { signal });
  const within = (key: string, signal = neverAborts()) => shared.within(10_000, key, { signal, hasLooked: true });
  /** The shared look sleeps, and this many waiters. */
  const asleep = (waiters = 0) => eventually('all sleep', () => clock.idleMs().length === waiters + 1);
  const advance = async (ms: number) => {
    await asleep();
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { clock, found, looks, state, shared, wait, within, asleep, advance };
}

/** One that looks at an interval. */
const polled = () => shared({ firstMs: POLL_MS, maxMs: POLL_MS, factor: 1, jitter: 0 });

it('reads all keys in one look, and each waiter goes on when its own key is found', async () => {
  const { found, looks, wait, advance } = shared();
  const [one, other, missing] = ['a', 'a', 'b'].map(key => wait(key));
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
  const left = wait('a', over.signal);
  over.abort(new Error('the claim has ended'));
  await expect(left).rejects.toThrow('the claim has ended');
  await new Promise(setImmediate);
  const before = looks.length;
  expect(clock.idleMs()).toEqual([]);
  found.set('b', 1);
  const next = wait('b');
  await new Promise(setImmediate);
  clock.advance(25); // as long after the last look as any look
  expect(await next).toBe(1);
  expect(looks.slice(before)).toEqual([['b']]);
});

it('a thousand who wait cost four looks a second, one of them one look each 25 to 250 ms', async () => {
  const { clock, looks, wait, advance } = shared();
  for (let n = 0; n < 1_000; n++) void wait(`${n}`);
  await advance(250);
  const [beganMs, before] = [clock.nowMs(), looks.length];
  for (let round = 0; round < 20; round++) await advance(Math.max(...clock.idleMs(), 1));
  const aSecond = ((looks.length - before) * 1_000) / (clock.nowMs() - beganMs);
  expect(aSecond).toBeLessThanOrEqual(4.1);

  const alone = shared();
  void alone.wait('a');
  const rests: number[] = [];
  for (let round = 0; round < 20; round++) {
    await alone.asleep();
    rests.push(...alone.clock.idleMs());
    await alone.advance(Math.max(...alone.clock.idleMs()));
  }
  expect(Math.min(...rests)).toBeGreaterThan(0);
  expect(rests.at(-1)).toBeLessThanOrEqual(250);
});

it('looks at once for one who comes while it rests', async () => {
  const { clock, found, looks, wait, advance } = shared();
  void wait('a');
  while (Math.max(...clock.idleMs(), 0) <= 100) await advance(Math.max(...clock.idleMs(), 1));
  clock.advance(50);
  found.set('b', 3);
  expect(await wait('b')).toBe(3);
  expect(looks.at(-1)).toEqual(['a', 'b']);
});

it('fails for those who waited, and looks again for the next', async () => {
  const { clock, found, state, wait } = shared();
  const failed = Promise.allSettled([wait('a'), wait('b')]);
  state.failure = new Error('away');
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  state.failure = undefined;
  found.set('a', 2);
  const next = wait('a');
  await new Promise(setImmediate);
  clock.advance(25);
  expect(await next).toBe(2);
});

it('looks for who waits for a session when that session changes, all in one look, and for no other', async () => {
  const { shared, found, looks, within, asleep } = polled();
  const [first, second] = ['a/1', 'a/2', 'b/1', 'c/1'].map(key => within(key));
  await asleep(4);
  expect(looks).toEqual([]);
  found.set('a/1', 1).set('a/2', 2);
  shared.changed('a');
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  for (let end = 0; end < 100; end++) shared.changed(`other ${end}`);
  await asleep(2);
  expect(looks).toEqual([['a/1', 'a/2']]);
});

it('takes what this process knows in place of a look', async () => {
  const { shared, looks, within, asleep } = polled();
  const [known] = ['a/1', 'a/2', 'b/1'].map(key => within(key));
  await asleep(3);
  shared.settle('a', key => (key === 'a/1' ? 5 : undefined));
  shared.changed('a'); // who is settled is not looked for
  expect(await known).toBe(5);
  await asleep(2);
  expect(looks).toEqual([['a/2']]);
});

it('finds what another replica did by one look at an interval, also when others have come meanwhile', async () => {
  const { clock, looks, found, within, asleep } = polled();
  const all = Array.from({ length: 500 }, (_, n) => within(`s${n}/1`));
  await asleep(500);
  expect(looks).toEqual([]);
  clock.advance(POLL_MS);
  await eventually('one look', () => looks.length === 1);
  expect(looks[0]).toHaveLength(500);
  await asleep(500);
  void within('late/1');
  await asleep(501);
  found.set('s7/1', 7);
  clock.advance(POLL_MS);
  expect(await all[7]).toBe(7);
  expect(looks).toHaveLength(2);
});

it('answers nothing when the time is over, or when its signal aborts, and asks nothing more once no one waits', async () => {
  const { clock, looks, within, asleep } = polled();
  const stopping = new AbortController();
  const one = within('a/1');
  const other = within('b/1', stopping.signal);
  await asleep(2);
  stopping.abort();
  expect(await other).toBeUndefined();
  for (let ms = 0; ms < 10_000; ms += POLL_MS) {
    const before = looks.length;
    clock.advance(POLL_MS);
    await eventually('a look', () => looks.length > before || clock.idleMs().length === 0);
    await new Promise(setImmediate);
  }
  expect(await one).toBeUndefined();
  await new Promise(setImmediate);
  clock.advance(POLL_MS);
  await eventually('it rests', () => clock.idleMs().length === 0);
  expect(looks.length).toBeLessThanOrEqual(40);
});
