import { expect, it } from 'vitest';
import { SharedLook } from '../../../controller/lease/shared-look.ts';
import { eventually } from '../../eventually.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** Looks that a test ends. */
function shared() {
  const clock = steppedClock();
  const looks: PromiseWithResolvers<number>[] = [];
  const look = new SharedLook(
    () => {
      const begun = Promise.withResolvers<number>();
      looks.push(begun);
      return begun.promise;
    },
    600,
    clock,
  );
  const begun = (count: number) => eventually('a look', () => looks.length === count);
  const rests = () => eventually('a rest', () => clock.idleMs().length === 1);
  return { clock, look, looks, begun, rests };
}

it('is one look for all who ask before it begins, and a later one for who asks while it runs', async () => {
  const { clock, look, looks, begun, rests } = shared();
  const early = Array.from({ length: 50 }, () => look.next());
  await begun(1);
  const late = look.next();
  looks[0]?.resolve(1);
  expect(new Set(await Promise.all(early))).toEqual(new Set([1]));
  await rests();
  expect(looks).toHaveLength(1);
  clock.advance(600);
  await begun(2);
  looks[1]?.resolve(2);
  expect(await late).toBe(2);
});

it('rests between two looks, counted from the begin of the first, and none runs beside another', async () => {
  const { clock, look, looks, begun, rests } = shared();
  const first = look.next();
  await begun(1);
  clock.advance(400);
  const second = look.next();
  looks[0]?.resolve(1);
  await first;
  await rests();
  expect(clock.idleMs()).toEqual([200]);
  clock.advance(200);
  await begun(2);
  clock.advance(5_000); // a look that takes long
  const third = look.next();
  expect(clock.idleMs()).toEqual([]);
  expect(looks).toHaveLength(2);
  looks[1]?.resolve(2);
  await second;
  await begun(3);
  looks[2]?.resolve(3);
  expect(await third).toBe(3);
});

it('fails for all who asked, and looks again for the next', async () => {
  const { clock, look, looks, begun, rests } = shared();
  const failed = Promise.allSettled([look.next(), look.next()]);
  await begun(1);
  looks[0]?.reject(new Error('away'));
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = look.next();
  await rests();
  clock.advance(600);
  await begun(2);
  looks[1]?.resolve(2);
  expect(await next).toBe(2);
});
