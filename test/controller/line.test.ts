import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../cli/program.ts';
import { BrowserSessions, type PlaceInLine } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol, READY } from './protocol.ts';
import { type Answer, deployment, problemOf, type Stack, startStack } from './stack.ts';

/** One place, which is taken; `free` frees it, `enter` calls for a lease as a user of its own. */
async function fullFleet(rules: Parameters<typeof protocol>[1] = {}) {
  const database = await freshPostgres();
  const p = protocol(database, rules);
  await p.maintenance.setCapacity(1);
  const taken = await p.claim({ userId: 'first' });
  return {
    ...p,
    database,
    async free() {
      await p.leases.end(taken.session.id, null, null, 'released');
      await p.fleet.markGone(taken.runner.id);
    },
    async refused(userId: string, waits: boolean, conversationId = 'c1') {
      const refused = await p.acquire({ userId, waits, conversationId });
      if (refused.outcome !== 'refused') throw new Error(`expected a refusal, got ${refused.outcome}`);
      return refused;
    },
  };
}

describe('the line of callers where every place is taken', () => {
  it('has an order of arrival: a free place is for the first who waits, and a new caller comes last', async () => {
    const p = await fullFleet();
    const [ada, bob] = [await p.refused('ada', true), await p.refused('bob', true)];
    expect([ada, bob]).toMatchObject([
      { code: 'capacity_exceeded', limit: 1, active: 1, turn: 0, ahead: 0 },
      { code: 'capacity_exceeded', turn: 1, ahead: 1 },
    ]);
    const places = [ada.place ?? '', bob.place ?? ''];
    expect(await p.leases.turns('local', 't1', places)).toEqual([]);
    await p.free();
    expect(await p.refused('zoe', false)).toMatchObject({ turn: 2 });
    expect(await p.leases.turns('local', 't1', places)).toEqual([ada.place]);
    expect(await p.refused('bob', true)).toMatchObject({ place: bob.place, turn: 1 });
    const { session } = await p.claim({ userId: 'ada', waits: true });
    const { events } = await p.directory.events(session.id, { limit: 1 });
    expect(events[0]).toMatchObject({ kind: 'session.claimed', data: { waited_ms: expect.any(Number) } });
    expect(await p.refused('bob', true)).toMatchObject({ turn: 0 });
  });

  it('gives a warm runner to the first who waits', async () => {
    const p = await fullFleet();
    const ada = await p.refused('ada', true);
    await p.maintenance.setCapacity(2);
    await p.fleet.plan('local', 't1', 1, 2);
    expect(await p.leases.turns('local', 't1', [ada.place ?? ''])).toEqual([ada.place]);
    await p.refused('bob', true); // although the pool is making one: it is ada's
    const [row] = await p.fleet
      .take('local', 'creating', 9, 0)
      .then(rows => rows.filter(each => each.session_id === null));
    await p.fleet.markUp(row?.id ?? '', randomUUID(), 'http://127.0.0.1:1/warm');
    await p.refused('bob', true);
    expect((await p.claim({ userId: 'ada', waits: true })).runner.id).toBe(row?.id);
  });

  it('keeps the turn of a caller that was refused and comes back in time, and lets a place go to those that wait meanwhile', async () => {
    const p = await fullFleet();
    const away = await p.refused('ada', false);
    expect(away.retryAfterMs).toBeGreaterThanOrEqual(1_000);
    expect(away.retryAfterMs).toBeLessThanOrEqual(30_000);
    const bob = await p.refused('bob', true);
    expect(await p.refused('ada', false)).toMatchObject({ place: away.place, turn: 0 });
    expect(await p.leases.turns('local', 't1', [bob.place ?? ''])).toEqual([]);
    await p.free();
    // no place stays free for one who is away while another waits
    expect(await p.leases.turns('local', 't1', [bob.place ?? ''])).toEqual([bob.place]);
    await p.leases.leaveLine(bob.place ?? '', false);
    // one who is new does not come before one who was asked to come back
    await p.refused('zoe', false);
    expect(await p.claim({ userId: 'ada' })).toBeDefined();
  });

  it('skips a caller whose time is over, and one whose replica no longer holds its call', async () => {
    const p = await fullFleet();
    const ada = await p.refused('ada', true);
    await p.refused('bob', false);
    const zoe = await p.refused('zoe', true);
    await p.free();
    expect(await p.leases.turns('local', 't1', [zoe.place ?? ''])).toEqual([]);
    await p.database.query(
      `update omicron.waiting_callers set waits_until = now() - interval '1 second' where place = $1`,
      [ada.place],
    );
    expect(await p.leases.turns('local', 't1', [zoe.place ?? ''])).toEqual([zoe.place]);
    await p.leases.leaveLine(zoe.place ?? '', false);
    await p.database.query(`update omicron.waiting_callers set kept_until = now() - interval '1 second'`);
    expect(await p.claim({ userId: 'somebody-new' })).toBeDefined();
    expect(await p.database.query('select from omicron.waiting_callers')).toEqual([]);
  });

  it.each(['is ready', 'is starting'])('drops a caller whose lease, claimed by an earlier call, %s', async state => {
    const p = await fullFleet();
    await p.maintenance.setCapacity(2);
    const slow = await p.claim({ userId: 'ada' });
    const boot = randomUUID();
    await p.fleet.markUp(slow.runner.id, boot, 'http://127.0.0.1:1/slow');
    await p.leases.beginAssignment(p.claimOf(slow));
    const claimedUntil = (time: string) =>
      p.database.query(`update omicron.browser_sessions set claim_until = ${time} where id = $1`, [slow.session.id]);
    await claimedUntil('now()'); // its controller is late: another call may claim, and no place is free for it
    const [again, bob] = [await p.refused('ada', true), await p.refused('bob', true)];
    await claimedUntil(`now() + interval '15 seconds'`);
    if (state === 'is ready') await p.redeem(slow, { boot_id: boot, ready: READY });
    await p.free();
    const places = [again.place ?? '', bob.place ?? ''];
    expect(await p.leases.turns('local', 't1', places)).toContain(again.place);
    await p.acquire({ userId: 'ada', waits: true });
    expect(await p.leases.turns('local', 't1', places)).toContain(bob.place);
    expect(await p.claim({ userId: 'bob', waits: true })).toBeDefined();
  });

  it('never has more callers of one user than the user may have sessions', async () => {
    const p = await fullFleet({ userLimit: 2 });
    await p.refused('ada', true, 'c1');
    await p.refused('ada', false, 'c2');
    expect(await p.refused('ada', true, 'c3')).toMatchObject({ code: 'user_quota_exceeded', limit: 2, active: 2 });
    expect(await p.refused('ada', true, 'c2')).toMatchObject({ code: 'capacity_exceeded', turn: 1 });
    expect(await p.refused('bob', true)).toMatchObject({ code: 'capacity_exceeded', turn: 2 });
  });

  it('asks to come back when the turn comes, by the places that came free in the last minute, within 1 to 30 s', async () => {
    const p = await fullFleet({ userLimit: 1_000 });
    expect((await p.refused('ada', true)).retryAfterMs).toBe(30_000); // nothing comes free before
    await p.database.query(
      `insert into omicron.runners (provider, template, state, gone_at)
       select 'local', 't1', 'gone', clock_timestamp() - interval '30 seconds' from generate_series(1, 60)`,
    );
    const told = [];
    for (let n = 1; n <= 40; n++) told.push((await p.refused(`user-${n}`, true)).retryAfterMs / 1_000);
    // one place a second for those before it, and 0.6 s
    expect(told.slice(0, 3)).toEqual([2.6, 3.6, 4.6]);
    expect(told[39]).toBe(30);
    const { retryAfterMs } = (await p.leases.leaveLine((await p.refused('user-5', true)).place ?? '', true)) ?? {};
    expect(retryAfterMs).toBe(6_600);
  });
});

it('expects leases to last as those that ended lately, else those before, and before one has ended three times as long as they have', async () => {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: 1_000 });
  await p.warm(4);
  await p.maintenance.setCapacity(4);
  for (let n = 0; n < 4; n++) await p.lease({ userId: `user-${n}` });
  const told = async (userId: string) => {
    const refused = await p.acquire({ userId });
    return (
      refused.outcome === 'refused' && [refused.retryAfterMs / 1_000, (refused.waitMs ?? 0) / 1_000].map(Math.floor)
    );
  };
  const age = (seconds: number) =>
    database.query(
      `update omicron.browser_sessions set starting_since = clock_timestamp() - make_interval(secs => $1)`,
      [seconds],
    );
  const end = (lastedSeconds: number, secondsAgo: number) =>
    database.query(
      `insert into omicron.runners (provider, template, state, assigned_at, gone_at)
       select 'local', 't1', 'gone', gone_at - make_interval(secs => $1), gone_at
         from (values (clock_timestamp() - make_interval(secs => $2))) ended (gone_at)`,
      [lastedSeconds, secondsAgo],
    );
  // 0.6 s more than the wait, at most 30 s
  await age(0.1);
  expect(await told('ada')).toEqual([1, 0]); // four places, each for some 300 ms
  await age(10);
  expect(await told('bob')).toEqual([15, 15]); // the second place of four in 30 s
  await age(0.1);
  await end(10, 3_600);
  expect(await told('joan')).toEqual([8, 7]); // the third of four that last 10 s each
  await end(20, 10);
  expect(await told('eve')).toEqual([20, 20]); // the fourth of four that last 20 s each
  await age(600);
  expect(await told('joe')).toEqual([30, 300]); // one a minute is more than four in 600 s
});

const CAPACITY = 3;
const CALLERS = 18;

/** Two controllers on one database and one machine. */
async function twoControllers(overrides: Record<string, unknown> = {}) {
  const shared = await deployment({
    OMICRON_CAPACITY: CAPACITY,
    OMICRON_POOL_IDLE: 0,
    OMICRON_USER_LIMIT: 1_000,
    ...overrides,
  });
  const stacks = [await startStack({}, shared), await startStack({}, shared)] as const;
  return {
    stacks,
    async [Symbol.asyncDispose]() {
      for (const stack of stacks) await stack.stop();
      await shared[Symbol.asyncDispose]();
    },
  };
}

const waiting = async (stack: Stack): Promise<number> => {
  const [row] = await stack.database.query<{ n: number }>(
    'select count(*)::int as n from omicron.waiting_callers where waits_until > now()',
  );
  return row?.n ?? 0;
};

const end = async (stack: Stack, answer: Answer) => {
  const { session_id: id } = answer.body as { session_id: string }; // a lease
  expect((await stack.call('DELETE', `/internal/browser-sessions/${id}`)).status).toBeLessThan(300);
};

describe('two controllers with a full fleet', () => {
  it('serve callers in order of arrival, whichever of the two they called', { timeout: 60_000 }, async () => {
    await using both = await twoControllers();
    const [first, second] = both.stacks;
    const held = [];
    for (let n = 0; n < CAPACITY; n++) held.push(await first.getOrCreate({ conversation_id: `held-${n}` }));
    const callers = [];
    for (let n = 0; n < CALLERS; n++) {
      const stack = n % 2 === 0 ? first : second;
      const answered = stack.getOrCreate({ conversation_id: `c${n}`, wait_seconds: 50 }).then(async answer => {
        expect(answer.status).toBe(200);
        await sleep(50);
        await end(stack, answer);
      });
      callers.push(answered);
      await eventually('the caller is in the line', async () => (await waiting(first)) === n + 1);
    }
    const looks = () =>
      first.queried('line_turns') +
      second.queried('line_turns') +
      first.queried('.acquire(') +
      second.queried('.acquire(');
    const before = looks();
    await sleep(2_000);
    expect((looks() - before) / (2 * CALLERS)).toBeLessThan(0.6); // statements a caller and second: the fewer, the more wait
    for (const answer of held) await end(first, answer);
    await Promise.all(callers);
    const rows = await first.database.query<{ conversation_id: string }>(
      `select s.conversation_id from omicron.session_events e join omicron.browser_sessions s on s.id = e.session_id
        where e.kind = 'session.claimed' and s.conversation_id like 'c%' order by e.id`,
    );
    const served = rows.map(row => Number(row.conversation_id.slice(1)));
    expect(served).toHaveLength(CALLERS);
    // the claims of places that are free at once may commit in either order
    for (const [index, n] of served.entries()) expect(Math.abs(index - n)).toBeLessThan(CAPACITY);
    const metrics = String((await second.call('GET', '/metrics', { token: null })).body);
    expect(metrics).toContain(`omicron_wait_seconds_count{outcome="place"} ${CALLERS / 2}`);
    expect(metrics).toContain('omicron_waiting_callers 0');
  });

  it('show callers of the SDK and the command their place, which they keep', { timeout: 60_000 }, async () => {
    await using both = await twoControllers({ OMICRON_CAPACITY: 1 });
    const [first, second] = both.stacks;
    const held = await first.getOrCreate({ conversation_id: 'held' });
    const turns: PlaceInLine[] = [];
    const sessions = new BrowserSessions({ url: first.url, serviceSecret: first.settings.serviceSecret });
    const user = { userId: 'ada', waitSeconds: 50 };
    const early = sessions.acquire({ ...user, conversationId: 'early', onWaiting: turn => turns.push(turn) });
    await eventually('it waits', async () => (await waiting(first)) === 1);
    let stderr = '';
    const command = runCommand(['session', 'start', '--user', 'ada', '--conversation', 'late'], {
      environment: { [ENV.controllerUrl]: second.url, [ENV.serviceSecret]: second.settings.serviceSecret },
      signal: new AbortController().signal,
      stdin: new PassThrough() as unknown as NodeJS.ReadStream, // not read
      stdout: { write: () => {} },
      stderr: {
        write: text => {
          stderr += text;
        },
      },
    });
    await eventually('both know their place', () => turns.length > 0 && stderr !== '');
    expect(turns[0]).toEqual({ position: 1, expectedWaitSeconds: expect.any(Number) });
    expect(stderr).toMatch(/^Every browser is in use: position 2 in the line, expected wait \d+ s\.\n/);
    await end(first, held);
    const lease = await early;
    await sessions.end(lease.sessionId);
    expect(await command).toBe(0);
    const { events } = await sessions.listEvents(lease.sessionId);
    const claimed = events.find(({ kind }) => kind === 'session.claimed');
    expect(Number(claimed?.data.waited_ms)).toBeGreaterThanOrEqual(2_000);
  });

  it('forget a caller that is called and then refused for another reason', { timeout: 60_000 }, async () => {
    await using both = await twoControllers({ OMICRON_USER_LIMIT: 2 });
    const [first] = both.stacks;
    await first.getOrCreate({ conversation_id: 'own' });
    const others = [await first.getOrCreate({ user_id: 'bob' }), await first.getOrCreate({ user_id: 'zoe' })];
    const callers = [];
    for (const conversation_id of ['one', 'two']) {
      callers.push(first.getOrCreate({ conversation_id, wait_seconds: 50 }));
      await eventually('the caller is in the line', async () => (await waiting(first)) === callers.length);
    }
    for (const other of others) await end(first, other);
    const [one, two] = await Promise.all(callers);
    expect(one?.status).toBe(200);
    expect(problemOf(two as Answer)).toMatchObject({ code: 'user_quota_exceeded' });
    // or no caller behind it would have a place until the row lapses
    expect(await first.database.query('select from omicron.waiting_callers')).toEqual([]);
  });

  it('skip a caller that hung up, and keep the turn of one that was asked to come back', {
    timeout: 60_000,
  }, async () => {
    await using both = await twoControllers({ OMICRON_CAPACITY: 1 });
    const [first, second] = both.stacks;
    const held = await first.getOrCreate({ conversation_id: 'held' });
    const hangUp = new AbortController();
    const gone = fetch(`${first.url}/internal/browser-sessions/get-or-create`, {
      method: 'POST',
      signal: hangUp.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await first.token()}` },
      body: JSON.stringify({ user_id: 'ada', conversation_id: 'gone', wait_seconds: 50 }),
    }).catch((error: Error) => error.name);
    await eventually('it waits', async () => (await waiting(first)) === 1);
    const refused = await second.getOrCreate({ conversation_id: 'back', wait_seconds: 0 });
    expect(problemOf(refused)).toMatchObject({ code: 'capacity_exceeded', limit: 1, active: 1 });
    expect(problemOf(refused).detail).toContain('1 callers are first');
    hangUp.abort();
    expect(await gone).toBe('AbortError');
    await eventually('it is forgotten', async () => (await waiting(first)) === 0);
    await end(first, held);
    await eventually(
      'a place',
      async () => (await first.database.query(`select from omicron.permits where runner_id is null`)).length === 1,
    );
    const late = await first.getOrCreate({ conversation_id: 'late', wait_seconds: 0 });
    expect(problemOf(late)).toMatchObject({ code: 'capacity_exceeded' });
    expect((await first.getOrCreate({ conversation_id: 'back', wait_seconds: 0 })).status).toBe(202);
    const metrics = String((await first.call('GET', '/metrics', { token: null })).body);
    expect(metrics).toContain('omicron_wait_seconds_count{outcome="left"} 1');
  });

  it('let a caller wait that comes back a moment early, and refuse a new one at once', {
    timeout: 60_000,
  }, async () => {
    await using both = await twoControllers({ OMICRON_CAPACITY: 1 });
    const [first, second] = both.stacks;
    await first.getOrCreate({ conversation_id: 'held' });
    await first.database.query(
      `insert into omicron.runners (provider, template, state, gone_at)
       select 'local', 't1', 'gone', clock_timestamp() from generate_series(1, 240)`,
    );
    const ask = (conversation_id: string) => second.getOrCreate({ conversation_id, wait_seconds: 0 });
    expect(problemOf(await ask('back'))).toMatchObject({ code: 'capacity_exceeded', retry_after_seconds: 1 });
    expect(await waiting(first)).toBe(0);
    const back = ask('back');
    await eventually('it waits for a place', async () => (await waiting(first)) === 1);
    expect(problemOf(await ask('new'))).toMatchObject({ code: 'capacity_exceeded', position: 2 });
    await first.database.query('update omicron.permits set runner_id = null');
    expect((await back).status).toBe(202);
    // no place comes free while it waits
    const again = await ask('new');
    expect(problemOf(again)).toMatchObject({ code: 'capacity_exceeded', position: 1, retry_after_seconds: 1 });
  });
});
