import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCES } from '../../../contract/names.ts';
import { signControllerToken, signingKey } from '../../../contract/tokens.ts';
import { eventually } from '../../eventually.ts';
import { protocol } from '../protocol.ts';
import { type Stack, someUser, startStack } from '../stack.ts';

// The point of truth: who gets the secrets of a lease, and how often.

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

describe('[O4] the broker', () => {
  /** A claim whose runner has heard nothing yet, and the token that would be sent to it. */
  const claimed = async (change: { seconds?: number; nowMs?: number } = {}) => {
    const p = protocol(stack.database, { userLimit: 1_000 });
    const { session, runner } = await eventually('a warm runner', async () => {
      const acquired = await p.acquire({ userId: someUser() });
      if (acquired.outcome === 'claimed' && acquired.runner.state === 'claimed') return acquired;
      if (acquired.outcome === 'claimed') await p.leases.end(acquired.session.id, null, null, 'released');
      return undefined;
    });
    const claims = {
      session_id: session.id,
      epoch: session.epoch,
      runner_id: runner.id,
      claim_id: session.claim_id,
      boot_id: runner.boot_id,
      user_id: session.user_id,
      options: {},
    };
    const sign = async (extra: object = {}) =>
      signControllerToken(
        signingKey(stack.settings.signingKey),
        AUDIENCES.broker,
        { ...claims, jti: randomUUID(), ...extra },
        { nowMs: change.nowMs ?? Date.now(), seconds: change.seconds ?? 60 },
      );
    return { session, sign, p };
  };
  const redeem = (url: string, token: string, key?: string) =>
    fetch(`${url}/internal/runner-secrets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    });

  it('hands the secrets of exactly one session over, in the form of --secrets, and exactly once over two replicas', async () => {
    await using other = await startStack({}, stack);
    const { session, sign } = await claimed();
    for (const [user, site, password] of [
      [session.user_id, 'walmart', 'hers'],
      [someUser(), 'walmart', 'not hers'],
    ] as const)
      await stack.call('PUT', `/internal/users/${user}/credentials/${site}`, { body: { username: 'u', password } });
    const token = await sign();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => redeem(n % 2 ? stack.url : other.url, token)),
    );
    const won = answers.filter(answer => answer.ok);
    expect(won).toHaveLength(1);
    expect(await won[0]?.json()).toMatchObject({
      secrets: { WALMART_USERNAME: 'u', WALMART_PASSWORD: 'hers' },
      lease_token: expect.any(String),
      artifact_token: expect.any(String),
      remaining_ms: expect.any(Number),
    });
    for (const answer of answers.filter(it => !it.ok)) {
      expect(answer.status).toBe(409);
      expect(await answer.text()).not.toContain('hers');
    }
    expect((await redeem(other.url, await sign())).status).toBe(409); // a new token of the same claim
  });

  it('answers the process that redeemed again, at any replica, and no holder of the token alone', async () => {
    await using other = await startStack({}, stack);
    const { session, sign, p } = await claimed();
    const token = await sign();
    const keys = Array.from({ length: 8 }, () => randomUUID());
    const race = await Promise.all(keys.map((key, n) => redeem(n % 2 ? stack.url : other.url, token, key)));
    const [first = expect.fail('none redeemed'), ...more] = race.filter(({ ok }) => ok);
    expect(more).toEqual([]);
    const key = keys[race.indexOf(first)];
    const remainingMs = async (answer: Response) => ((await answer.json()) as { remaining_ms: number }).remaining_ms; // RedeemAnswer
    const firstMs = await remainingMs(first);
    await p.age(session.id, 100);
    const again = await redeem(other.url, token, key);
    expect(again.status).toBe(200);
    expect(await remainingMs(again)).toBeLessThanOrEqual(firstMs - 100_000); // not counted from the start again
    for (const wrong of [undefined, randomUUID()]) expect((await redeem(stack.url, token, wrong)).status).toBe(409);
    expect((await redeem(stack.url, token, 'not-a-uuid')).status).toBe(400);
    expect((await redeem(stack.url, await sign({ boot_id: randomUUID() }), key)).status).toBe(409);
    await p.leases.end(session.id, null, null, 'released');
    expect((await redeem(stack.url, token, key)).status).toBe(409);
  });

  it('answers none again whose redemption had no key, whatever key is sent later', async () => {
    const { sign } = await claimed();
    const token = await sign();
    expect((await redeem(stack.url, token)).status).toBe(200);
    expect((await redeem(stack.url, token, randomUUID())).status).toBe(409);
    expect((await redeem(stack.url, token)).status).toBe(409);
  });

  it.each<[string, object]>([
    ['another claim', { claim_id: randomUUID() }],
    ['another session', { session_id: randomUUID() }],
    ['another runner', { runner_id: randomUUID() }],
    ['another boot of the runner', { boot_id: randomUUID() }],
    ['another epoch', { epoch: 2 }],
  ])('refuses a token of %s', async (_what, change) => {
    const { sign } = await claimed();
    expect((await redeem(stack.url, await sign(change))).status).toBe(409);
    expect((await redeem(stack.url, await sign())).status).toBe(200);
  });

  it('hands nothing to a token of another user', async () => {
    const { sign } = await claimed();
    const other = someUser();
    await stack.call('PUT', `/internal/users/${other}/credentials/walmart`, {
      body: { username: 'u', password: 'theirs' },
    });
    const answer = await redeem(stack.url, await sign({ user_id: other }));
    expect(answer.status).toBe(409);
    expect(await answer.text()).not.toContain('theirs');
  });

  it('judges the token’s end by the database’s clock', async () => {
    const { sign } = await claimed({ nowMs: Date.now() - 61_000 });
    const answer = await redeem(stack.url, await sign());
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({
      code: 'redemption_refused',
      detail: expect.stringContaining('token expired'),
    });
  });

  it('refuses once the lease was ended', async () => {
    const { session, sign, p } = await claimed();
    await p.leases.end(session.id, null, null, 'released');
    expect((await redeem(stack.url, await sign())).status).toBe(409);
  });
});
