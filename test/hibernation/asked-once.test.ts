import { expect, it } from 'vitest';
import { deployment, startStack } from '../controller/stack.ts';
import { eventually } from '../eventually.ts';

const SESSIONS = 24;

it('two replicas ask each session that is about to expire once, however long its runner takes', async () => {
  await using shared = await deployment({
    OMICRON_CAPACITY: SESSIONS,
    OMICRON_POOL_IDLE: 0,
    OMICRON_USER_LIMIT: SESSIONS,
  });
  await using first = await startStack({}, shared);
  await using second = await startStack({}, shared);
  for (let n = 0; n < SESSIONS; n++)
    await first.lease({ conversation_id: `idle-${n}`, hibernate: 'expiry', ttl_seconds: 600 });
  const runners = [...shared.machine.runners.values()];
  const orders = () => runners.map(({ hibernations }) => hibernations);
  const looks = () => Math.min(...[first, second].map(stack => stack.queried('expiring_leases')));

  const goOn = shared.machine.hold('hibernate');
  await first.database.query(
    `update omicron.browser_sessions set last_used_at = now() - interval '10 minutes', expires_at = now() + interval '28 seconds'`,
  );
  const before = looks();
  await eventually('both replicas have looked', () => looks() > before && orders().includes(1));
  goOn();
  await eventually('all are hibernated', async () => {
    const rows = await first.database.query(`select from omicron.browser_sessions where status = 'hibernated'`);
    return rows.length === SESSIONS;
  });
  expect(orders()).toEqual(Array.from({ length: SESSIONS }, () => 1));
});
