import { expect, it } from 'vitest';
import { ChangeSignal } from '../../../controller/lease/changes.ts';
import type { Awaited } from '../../../controller/store/awaited.ts';
import { eventually } from '../../eventually.ts';
import { steppedClock } from '../../fakes/clock.ts';

const POLL_MS = 250;

/** A signal, the looks of each waiter, and what the shared look finds. */
function waiting() {
  const clock = steppedClock();
  const asked: (readonly Awaited[])[] = [];
  const come = new Set<string>();
  let failure: Error | undefined;
  const changes = new ChangeSignal(clock, async awaited => {
    asked.push(awaited);
    if (failure) throw failure;
    return awaited.filter(({ sessionId }) => come.has(sessionId));
  });
  const looks: Record<string, number> = {};
  const ended = new Set<string>();
  /** Waits ten seconds for the end of a session. */
  const until = (sessionId: string) => {
    const look = async () => {
      looks[sessionId] = (looks[sessionId] ?? 0) + 1;
      return ended.has(sessionId);
    };
    return changes.until({ sessionId, epoch: 1 }, look, isEnded => isEnded, 10_000);
  };
  const fail = (error: Error) => {
    failure = error;
  };
  /** The shared look sleeps, and this many waiters. */
  const asleep = (waiters: number) => eventually('all sleep', () => clock.idleMs().length === waiters + 1);
  return { changes, clock, asked, come, looks, ended, until, fail, asleep };
}

it('wakes who waits for a session by a change of that session, and no other', async () => {
  const { changes, looks, ended, until, asleep } = waiting();
  const [first] = [until('a'), until('b'), until('c')];
  await asleep(3);
  ended.add('a');
  changes.kick('a');
  expect(await first).toBe(true);
  for (let end = 0; end < 100; end++) changes.kick(`other ${end}`);
  changes.kick();
  await asleep(2);
  expect(looks).toEqual({ a: 2, b: 1, c: 1 });
});

it('finds what another replica did by one look that all share, and wakes those alone whose wait is over', async () => {
  const { clock, asked, come, looks, ended, until, asleep } = waiting();
  const all = Array.from({ length: 500 }, (_, n) => until(`s${n}`));
  await asleep(500);
  clock.advance(POLL_MS);
  await eventually('one look', () => asked.length === 1);
  expect(asked[0]).toHaveLength(500);
  await asleep(500);
  ended.add('s7');
  come.add('s7');
  clock.advance(POLL_MS);
  expect(await all[7]).toBe(true);
  expect(asked).toHaveLength(2);
  expect(Object.values(looks).reduce((sum, count) => sum + count)).toBe(501);
});

it('answers what it saw when the time is over, without a look, and asks nothing more once no one waits', async () => {
  const { clock, asked, looks, until, asleep } = waiting();
  const one = until('a');
  await asleep(1);
  for (let ms = POLL_MS; ms < 10_000; ms += POLL_MS) {
    const before = asked.length;
    clock.advance(POLL_MS);
    await eventually('a look', () => asked.length > before);
    await asleep(1);
  }
  clock.advance(POLL_MS);
  expect(await one).toBe(false);
  expect(looks).toEqual({ a: 1 });
  await eventually('the last look', () => asked.length === 40);
  await asleep(0);
  clock.advance(POLL_MS);
  await eventually('it rests', () => clock.idleMs().length === 0);
  expect(asked).toHaveLength(40);
  void until('b');
  await asleep(1);
});

it('does not miss a change that comes during a look', async () => {
  const { changes } = waiting();
  let looks = 0;
  const seen = changes.until(
    { sessionId: 'a', epoch: 1 },
    async () => {
      looks += 1;
      if (looks === 1) changes.kick('a');
      return looks;
    },
    count => count === 2,
    10_000,
  );
  expect(await seen).toBe(2);
});

it('begins with an answer that the caller has, in place of a look', async () => {
  const { changes, asleep } = waiting();
  const seen: string[] = [];
  const awaited = { sessionId: 'a', actionId: 'one' };
  const answer = changes.until(
    awaited,
    async () => 'done',
    status => {
      seen.push(status);
      return status === 'done';
    },
    10_000,
    'pending',
  );
  await asleep(1);
  changes.kick('a');
  expect(await answer).toBe('done');
  expect(seen).toEqual(['pending', 'done']);
});

it('fails all who wait when the database cannot be read', async () => {
  const { clock, until, fail, asleep } = waiting();
  const all = Promise.allSettled([until('a'), until('b')]);
  await asleep(2);
  fail(new Error('away'));
  clock.advance(POLL_MS);
  expect((await all).map(each => each.status)).toEqual(['rejected', 'rejected']);
});

it('answers those who wait for a person when the process is about to end, and goes on waiting for the end of a session', async () => {
  const clock = steppedClock();
  const stopping = new AbortController();
  const changes = new ChangeSignal(clock, async () => [], stopping.signal);
  let isOver = false;
  const person = changes.until(
    { sessionId: 'a', actionId: 'question' },
    async () => 'pending',
    answer => answer !== 'pending',
    50_000,
  );
  const end = changes.until(
    { sessionId: 'b', epoch: 1 },
    async () => isOver,
    over => over,
    50_000,
  );
  await eventually('all sleep', () => clock.idleMs().length === 3);
  stopping.abort();
  expect(await person).toBe('pending');
  isOver = true;
  changes.kick('b');
  expect(await end).toBe(true);
});
