import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { type Answer, deployment, type Stack, startStack } from './stack.ts';

const IDLE = 50;
const FIRST = 12;
const CALLERS = 300;

/** Others are served in a second or two; on a machine with other work, in many. */
const MANY_WAIT_SECONDS = 15;

/** Resolves when this many of the calls have a lease. */
async function served(answers: Promise<Answer>[], most: number): Promise<void> {
  let leases = 0;
  for (const answer of answers)
    void answer.then(({ status }) => {
      if (status === 200) leases += 1;
    });
  await eventually(`${most} leases`, () => leases === most, 20_000);
}

const count = async ({ database }: Stack, status: string) =>
  (await database.query('select from omicron.browser_sessions where status = $1', [status])).length;

it('as many sessions are hibernated as callers wait, each is asked once, and all places are served', {
  timeout: 60_000,
}, async () => {
  await using shared = await deployment({ OMICRON_CAPACITY: IDLE, OMICRON_POOL_IDLE: 0, OMICRON_USER_LIMIT: 1_000 });
  const stacks = [await startStack({}, shared), await startStack({}, shared)] as const;
  const [first] = stacks;
  try {
    const idle: string[] = [];
    for (let n = 0; n < IDLE; n++) {
      const { session_id } = await first.lease({ conversation_id: `idle-${n}`, hibernate: 'expiry' });
      await first.call('POST', `/internal/browser-sessions/${session_id}/release`);
      idle.push(session_id);
    }
    const idleRunners = [...shared.machine.runners.values()].slice(0, IDLE - 1);
    const call = (n: number, wait_seconds: number) =>
      (n % 2 === 0 ? first : stacks[1]).getOrCreate({ conversation_id: `c${n}`, wait_seconds });

    const goOn = shared.machine.hold('hibernate');
    const few = Array.from({ length: FIRST }, (_, n) => call(n, 30));
    const asked = () => idleRunners.reduce((sum, { hibernations }) => sum + hibernations, 0);
    await eventually('as many are asked as callers wait', () => asked() === FIRST);
    await sleep(6_000); // longer than a caller stays in the line by itself
    expect(asked()).toBe(FIRST);
    await first.call('DELETE', `/internal/browser-sessions/${idle.at(-1)}`);
    await served(few, 1);
    goOn();
    await served(few, FIRST);
    expect(await count(first, 'hibernated')).toBe(FIRST);
    expect(await count(first, 'ready')).toBe(IDLE - 1);

    const many = Array.from({ length: CALLERS - FIRST }, (_, n) => call(FIRST + n, MANY_WAIT_SECONDS));
    await served(many, IDLE - FIRST);
    expect(await count(first, 'hibernated')).toBe(IDLE - 1);
    expect(idleRunners.map(({ hibernations }) => hibernations)).toEqual(Array.from({ length: IDLE - 1 }, () => 1));
    const statuses = (await Promise.all(many)).map(({ status }) => status);
    expect(statuses.filter(status => status === 429)).toHaveLength(CALLERS - IDLE);
  } finally {
    for (const stack of stacks) await stack.stop();
  }
});
