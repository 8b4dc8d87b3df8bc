import { expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { found, logIn } from '../profiles/member.ts';
import { LOGGED_IN } from '../site/member-site.ts';
import { CAPACITY, hibernateOnOneStack, leaseOf, on, pidOf, SLOW, slowAsked } from './hibernating-stack.ts';

hibernateOnOneStack();

it('[G2] makes room for another session where every place is taken', async () => {
  const leases = [];
  for (let place = 0; place < CAPACITY; place += 1) leases.push(await leaseOf('full', undefined, `user-${place}`));
  const [resting] = leases;
  await expect(
    on.sessions.acquire({ userId: 'ada', conversationId: 'one-more', recordVideo: false, waitSeconds: 1 }),
  ).rejects.toMatchObject({ code: 'capacity_exceeded' });
  await resting?.release();
  const other = await leaseOf('one-more');
  expect(await on.sessions.get(resting?.sessionId ?? '')).toMatchObject({ status: 'hibernated' });
  for (const lease of [...leases, other]) await lease.end();
});

it('[G2] makes room at its user’s quota, and a browser in use is ended for it to come back', async () => {
  const resting = await leaseOf('resting');
  await logIn(on.site, resting);
  await found(on.site, resting); // or the page would log in again
  const busy = await leaseOf('busy');
  await resting.release();
  const third = await leaseOf('third');
  expect(await on.sessions.get(resting.sessionId)).toMatchObject({ status: 'hibernated' });
  const { events } = await on.sessions.listEvents(resting.sessionId, { limit: 200 });
  expect(events.find(({ kind }) => kind === 'session.hibernated')?.data).toMatchObject({ why: 'capacity' });

  const call = (await busy.connect()).callTool('browser_navigate', { url: `${on.keepingUrl}${SLOW}` });
  await slowAsked.promise;
  await leaseOf('third'); // so that the busy one is the oldest
  const back = await leaseOf('resting');
  expect(await found(on.site, back)).toEqual(LOGGED_IN);
  expect(await on.sessions.get(busy.sessionId)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
  expect(await on.sessions.get(third.sessionId)).toMatchObject({ status: 'ready' });
  await Promise.allSettled([call]);
  for (const lease of [back, third]) await lease.end();
});

it('[E1] is lost with its machine, and ended for capacity, if hibernation was not asked for', async () => {
  const plain = (userId: string) => on.sessions.acquire({ userId, conversationId: 'plain', recordVideo: false });
  const lost = await plain('ada');
  process.kill(await pidOf(lost.sessionId), 'SIGTERM');
  const after = await eventually('the end', async () => {
    const session = await on.sessions.get(lost.sessionId);
    return session.status !== 'ready' && session;
  });
  expect(after).toMatchObject({ status: 'error', ended_reason: 'runner_lost' });
  const released = await plain('user-0');
  for (let place = 1; place < CAPACITY; place += 1) await plain(`user-${place}`);
  await released.release();
  await plain('one-more');
  expect(await on.sessions.get(released.sessionId)).toMatchObject({ status: 'ended', ended_reason: 'evicted' });
});
