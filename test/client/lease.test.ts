import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import { OmicronError } from '../../contract/problem.ts';
import { eventually } from '../eventually.ts';
import { type SteppedClock, steppedClock } from '../fakes/clock.ts';
import { problem } from '../fakes/controller/answer.ts';
import { ended, ready, renewed, SESSION_ID } from '../fakes/controller/clients.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';

const TTL_SECONDS = 60;
const HEARTBEAT = `/internal/browser-sessions/${SESSION_ID}/heartbeat`;
const superseded = () => problem(new OmicronError('lease_superseded', 'The session is at epoch 6.'));
const away = () => problem(new OmicronError('store_unavailable', 'The database is away.', { retryAfterSeconds: 5 }));

describe('lease', () => {
  let controller: FakeController;
  let clock: SteppedClock;
  let lost: OmicronError[];
  let lease: Lease;
  beforeEach(async () => {
    controller = await startFakeController();
    clock = steppedClock();
    lost = [];
    controller.answerNext(ready(5));
    lease = await new BrowserSessions({ ...controller, clock }).acquire({
      userId: 'ada',
      conversationId: 'c',
      ttlSeconds: TTL_SECONDS,
      onLost: error => lost.push(error),
    });
  });
  afterEach(async () => {
    controller.answerNext(ended());
    await lease.end();
    await controller.close();
  });

  const heartbeats = () => controller.seen.filter(({ path }) => path === HEARTBEAT);
  const idleFor = (ms: number) => eventually(`an idle wait of ${ms} ms`, async () => clock.idleMs().includes(ms));
  /** Steps to the next heartbeat and answers it. */
  const beat = async (answer: ReturnType<typeof renewed>, ms: number) => {
    await idleFor(ms);
    controller.answerNext(answer);
    const before = heartbeats().length;
    clock.advance(ms);
    await eventually('a heartbeat', async () => heartbeats().length > before);
  };

  it('shows its id to a log, and neither token nor address', () => {
    const [token = ''] = Object.values(lease.headers);
    const shown = inspect({ lease }, { depth: 5 });
    expect(shown).toContain(SESSION_ID);
    expect(token).not.toBe('');
    expect(shown).not.toContain(token);
    expect(shown).not.toContain(lease.mcpUrl);
  });

  it('renews itself at a third of its time to live, with its epoch and user', async () => {
    await beat(renewed(5), 20_000);
    await beat(renewed(5), 20_000);
    await idleFor(20_000);
    expect(heartbeats().map(({ userId, body }) => ({ userId, body }))).toEqual([
      { userId: 'ada', body: { epoch: 5 } },
      { userId: 'ada', body: { epoch: 5 } },
    ]);
    expect(lease.signal.aborted).toBe(false);
  });

  it('counts from the last heartbeat, whether sent by itself or by its owner', async () => {
    await idleFor(20_000);
    clock.advance(15_000);
    controller.answerNext(renewed(5));
    await lease.heartbeat();
    clock.advance(5_000);
    await idleFor(15_000);
    expect(heartbeats()).toHaveLength(1);
  });

  it('is lost when a newer lease exists: aborts its signal, calls onLost once and stops renewing', async () => {
    await beat(superseded(), 20_000);
    await eventually('the lease to be lost', async () => lease.signal.aborted);
    expect(lost).toHaveLength(1);
    expect(lost[0]).toMatchObject({ code: 'lease_superseded' });
    expect(lease.signal.reason).toBe(lost[0]);
    await expect(lease.heartbeat()).rejects.toMatchObject({ code: 'lease_superseded' });
    expect(clock.idleMs()).toEqual([]);
    expect(heartbeats()).toHaveLength(1);
  });

  it('survives an outage that is shorter than its time to live', async () => {
    await beat(away(), 20_000);
    await beat(away(), 5_000);
    await beat(renewed(5), 5_000);
    await idleFor(20_000);
    expect(lost).toEqual([]);
  });

  it('is lost when it cannot be renewed before its expiry', async () => {
    await beat(away(), 20_000);
    for (let leftMs = 40_000; leftMs > 5_000; leftMs -= 5_000) await beat(away(), 5_000);
    await beat(away(), 5_000);
    await eventually('the lease to be lost', async () => lease.signal.aborted);
    expect(lost).toHaveLength(1);
    expect(lost[0]?.code).toBe('store_unavailable');
  });

  it('ends with its epoch, once, and stops renewing', async () => {
    await idleFor(20_000);
    controller.answerNext(ended());
    await Promise.all([lease.end(), lease.end()]);
    await lease.end();
    const calls = controller.seen.slice(1);
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `DELETE /internal/browser-sessions/${SESSION_ID}?epoch=5`,
    ]);
    expect(clock.idleMs()).toEqual([]);
    expect(lease.signal.reason).toMatchObject({ code: 'lease_ended' });
    expect(lost).toEqual([]);
  });

  it('is released at the end of its block: it stops renewing, and its browser is left to its time to live', async () => {
    await idleFor(20_000);
    const before = controller.seen.length;
    {
      await using held = lease;
      expect(held.signal.aborted).toBe(false);
    }
    expect(lease.signal.reason).toMatchObject({ code: 'lease_released' });
    await eventually('no heartbeat to be due', () => clock.idleMs().length === 0);
    await expect(lease.heartbeat()).rejects.toMatchObject({ code: 'lease_released' });
    expect(controller.seen).toHaveLength(before);
    expect(lost).toEqual([]);
  });

  it('can be ended after it was released', async () => {
    await lease.release();
    controller.answerNext(ended());
    await lease.end();
    expect(controller.seen.at(-1)).toMatchObject({
      method: 'DELETE',
      path: `/internal/browser-sessions/${SESSION_ID}?epoch=5`,
    });
  });

  it('has nothing to end when a newer lease exists', async () => {
    controller.answerNext(superseded());
    await lease.end();
    expect(lease.signal.aborted).toBe(true);
  });

  it('can be ended again after the controller was away', async () => {
    controller.answerNext(away());
    await expect(lease.end()).rejects.toMatchObject({ code: 'store_unavailable' });
    controller.answerNext(ended());
    await lease.end();
    expect(controller.seen.filter(({ method }) => method === 'DELETE')).toHaveLength(2);
  });
});
