import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { sqlEgressLeases } from '../../controller/store/egress-leases.ts';
import { sqlHibernations } from '../../controller/store/hibernations.ts';
import { type DatabaseSchema, migrate, releasedSchema } from '../../controller/store/migrate.ts';
import { sqlPolicies } from '../../controller/store/policies.ts';
import { sqlProfiles } from '../../controller/store/profiles.ts';
import { sqlUserActions } from '../../controller/store/user-actions.ts';
import { closeEmptyDatabases, EMPTY_DATABASES, readTraces } from './empty-databases.ts';
import { protocol } from './protocol.ts';

const RELEASES = new URL('releases/', import.meta.url);
const versions = readdirSync(RELEASES, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name);
const fileOf = (version: string, name: string): string => readFileSync(new URL(`${version}/${name}`, RELEASES), 'utf8');

afterAll(closeEmptyDatabases);

/** The content of every table except the record of what was applied. */
async function rowsOf(database: Database): Promise<Record<string, unknown[]>> {
  const tables = await database.query<{ name: string }>(
    `select table_name as name from information_schema.tables
      where table_schema = 'omicron' and table_type = 'BASE TABLE' and table_name <> 'migrations' order by 1`,
  );
  const contents: Record<string, unknown[]> = {};
  for (const { name } of tables) {
    const rows = await database.query<{ row: unknown }>(
      `select to_jsonb(t) as row from omicron.${name} t order by to_jsonb(t)::text`,
    );
    contents[name] = rows.map(({ row }) => row);
  }
  return contents;
}

/** Everything of the schema that a step can notice. */
async function shapeOf(database: Database) {
  const list = async (sql: string) => (await database.query<{ line: string }>(sql)).map(({ line }) => line);
  return {
    functions: await list(
      `select pg_get_functiondef(oid) as line from pg_proc where pronamespace = 'omicron'::regnamespace order by 1`,
    ),
    triggers: await list(
      `select pg_get_triggerdef(t.oid) as line from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'omicron'::regnamespace and not t.tgisinternal order by 1`,
    ),
    columns: await list(
      `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') as line
         from information_schema.columns where table_schema = 'omicron' order by table_name, ordinal_position`,
    ),
    indexes: await list(`select indexdef as line from pg_indexes where schemaname = 'omicron' order by 1`),
    constraints: await list(
      `select conrelid::regclass || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
        where connamespace = 'omicron'::regnamespace and contype <> 'n' order by 1`,
    ),
    recorded: await list(`select name as line from omicron.migrations where name like 'functions/%' order by 1`),
  };
}

it('the version of this repository has its schema among those that are upgraded', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(versions).toContain(version); // else: npm run schema
});

const ANSWERED_BY = { viewer: 'Ada', identity: 'id 1' };

const CASES = versions.flatMap(version =>
  Object.entries(EMPTY_DATABASES).map(([name, open]) => ({ version, name, open })),
);

describe.each(CASES)('a database of release $version, on $name', { timeout: 180_000 }, ({ version, open }) => {
  it('keeps its rows and its leases', async () => {
    const database = await open();
    await database.script(fileOf(version, 'schema.sql'));
    await database.script(fileOf(version, 'rows.sql'));
    const before = await rowsOf(database);
    for (const [table, rows] of Object.entries(before)) expect(rows.length, table).toBeGreaterThan(0);

    await migrate(database);
    expect(await rowsOf(database)).toMatchObject(before); // and columns that came later

    const p = protocol(database);
    const { sessions } = await p.directory.list({ limit: 10, archived: false });
    const session = (conversation: string) => {
      const found = sessions.find(each => each.conversation_id === conversation);
      if (!found) throw new Error(`no session ${conversation}`);
      return found;
    };
    expect(sessions.map(each => [each.conversation_id, each.status])).toEqual([
      ['starting', 'starting'],
      ['resting', 'hibernated'],
      ['ready', 'ready'],
      ['failed', 'error'],
      ['over', 'ended'],
    ]);

    // the ready lease: renewed by its caller, its runner, and the egress proxy
    const ready = session('ready');
    const runnerId = ready.runner_id ?? '';
    const lease = { session_id: ready.id, epoch: 1, runner_id: runnerId };
    expect(await p.acquire({ conversationId: 'ready' })).toMatchObject({ outcome: 'renewed', session: { epoch: 1 } });
    expect(await p.leases.heartbeat(ready.id, 'ada', 1)).toMatchObject({ outcome: 'renewed' });
    expect(await p.broker.reportActivity(lease, 1)).toMatchObject({ policyVersion: 'd1.s3.u2' });
    const egressLeases = sqlEgressLeases(database);
    expect(await egressLeases.live([runnerId])).toMatchObject([{ lease, policy: { version: 'd1.s3.u2' } }]);
    expect(await egressLeases.awaitedUploads([runnerId])).toMatchObject([{ lease }]);
    expect((await sqlPolicies(database).of(ready.id, 'ada')).layers).toHaveLength(3);
    const userActions = sqlUserActions(database);
    const [pending, answered] = await userActions.list(ready.id);
    expect([pending?.status, answered?.note]).toEqual(['pending', '42']);
    expect(await userActions.answer(ready.id, pending?.id ?? '', 'declined', null, ANSWERED_BY)).toMatchObject({
      ...{ status: 'declined', answered_by: ANSWERED_BY },
    });
    const { events } = await p.directory.events(ready.id, { limit: 50 });
    expect(events.map(each => each.kind)).toEqual([
      ...['session.claimed', 'session.ready', 'user_action.requested', 'user_action.requested'],
      ...['user_action.answered', 'egress.denied', 'user_action.answered'],
    ]);

    // the starting one: goes on where it was
    const starting = session('starting');
    const claimed = {
      outcome: 'claimed' as const,
      session: starting,
      runner: await p.runner(starting.runner_id ?? ''),
      evicted: false,
    };
    expect(await p.acquire({ conversationId: 'starting' })).toMatchObject({ outcome: 'starting' });
    expect(await p.leases.beat(p.claimOf(claimed))).toBe(true);
    expect(await p.leases.beginAssignment(p.claimOf(claimed))).toMatchObject({ id: claimed.runner.id });
    expect(await p.redeem(claimed)).toMatchObject({ outcome: 'redeemed', userId: 'ada' });
    expect(await p.makeReady(claimed)).toMatchObject({ status: 'ready', epoch: 1 });

    // the hibernated one: its next start finds the snapshot; the profile is there too
    await p.fleet.markAcknowledged(session('resting').runner_id ?? '');
    const restored = await p.claim({ conversationId: 'resting' });
    expect(await p.redeem(restored)).toMatchObject({ outcome: 'redeemed', restores: true });
    expect(await sqlHibernations(database).ofStart(p.leaseOf(restored))).toMatchObject({ object: 'snapshot' });
    await p.leases.end(restored.session.id, null, 2, 'released');
    expect(await sqlProfiles(database, { versionsMax: 10 }).find('ada', 'work', null)).toMatchObject({ version: 1 });

    // those that are over: a new epoch, an artifact that is kept, totals that go on
    expect(await p.directory.artifacts(session('over').id)).toMatchObject([{ state: 'stored', uri: 'file:///v.webm' }]);
    await p.leases.end(ready.id, null, 1, 'released');
    expect((await p.directory.stats()).ended).toEqual({ released: 43, runner_start_failed: 1 });
    expect((await p.claim({ conversationId: 'failed' })).session).toMatchObject({ epoch: 2, status: 'starting' });
    const set = (change: string) =>
      database.query(`update omicron.browser_sessions set ${change} where id = $1`, [ready.id]);
    await expect(set(`status = 'ready'`)).rejects.toThrow(/may not go from ended to ready/);
  });

  it('becomes what an empty one becomes, from each of its releases', async () => {
    const database = await open();
    await migrate(database);
    const fresh = await shapeOf(database);
    expect(fresh.functions.length).toBeGreaterThan(30);
    await database.script('drop schema omicron cascade');
    await database.script(fileOf(version, 'schema.sql'));
    await migrate(database);
    expect(await shapeOf(database)).toEqual(fresh);
  });

  it('is left alone by the second start', async () => {
    const database = await open();
    await database.script(fileOf(version, 'schema.sql'));
    await migrate(database);
    const applied = await readTraces(database);
    await migrate(database);
    expect(await readTraces(database)).toEqual(applied);
  });

  it('takes a release with a new column, a changed signature and one function less, and goes on with its leases', async () => {
    const database = await open();
    await database.script(fileOf(version, 'schema.sql'));
    await database.script(fileOf(version, 'rows.sql'));
    const before = await rowsOf(database);
    await migrate(database, await nextRelease());
    expect(await rowsOf(database)).toMatchObject(before);
    const [next] = await database.query(
      `select (select bool_and(note = '') from omicron.browser_sessions) as "newColumn",
              (select jsonb_agg(p.oid::regprocedure::text) from pg_proc p where p.proname = 'may_act') as "mayAct",
              to_regproc('omicron.write_artifact') is null as "functionGone"`,
    );
    expect(next).toEqual({ newColumn: true, mayAct: ['omicron.may_act(uuid,integer,text)'], functionGone: true });
    const p = protocol(database);
    expect(await p.acquire({ conversationId: 'ready' })).toMatchObject({ outcome: 'renewed', session: { epoch: 1 } });
  });
});

/** A caller that waits at this replica, by its place in the line. */
async function waitAt({ acquire }: ReturnType<typeof protocol>, userId: string) {
  const refused = await acquire({ userId, waits: true });
  if (refused.outcome !== 'refused' || refused.place === undefined) throw new Error(`${userId} does not wait`);
  return { ...refused, place: refused.place };
}

describe.each(CASES)('a rollout from release $version, on $name', { timeout: 180_000 }, ({ version, open }) => {
  it('keeps the order of callers that wait at a replica of either release, and loses none', async () => {
    const database = await open();
    await database.script(fileOf(version, 'schema.sql'));
    const old = protocol(database);
    await old.warm(1);
    await old.maintenance.setCapacity(1);
    const held = await old.lease({ userId: 'first' });
    const ada = await waitAt(old, 'ada');
    const { functions } = await releasedSchema(); // a function that a step calls is not taken away
    await migrate(database, { ...(await nextRelease()), functions });
    const next = protocol(database);
    const bob = await waitAt(next, 'bob');
    const eve = await waitAt(old, 'eve');
    expect([ada, bob, eve].map(({ turn }) => turn)).toEqual([0, 1, 2]);

    const line = [
      { userId: 'ada', place: ada.place, replica: old },
      { userId: 'bob', place: bob.place, replica: next },
      { userId: 'eve', place: eve.place, replica: old },
    ];
    const turns = async () => {
      const called = line.map(({ place, replica }) => replica.leases.turns('local', 't1', [place]));
      return (await Promise.all(called)).flat();
    };
    expect(await turns()).toEqual([]);
    await old.leases.release(held.session.id, null, null);
    expect(await next.leases.yielding('local', 't1', 9)).toMatchObject([{ id: held.session.id }]);
    // how controllers before `yielding` choose
    const [released] = await database.query<{ id: string }>(
      `select released ->> 'id' as id from omicron.released_leases('local', 9) released`,
    );
    expect(released?.id).toBe(held.session.id);
    expect(await old.leases.endReleased(held.session.id)).toBe(true);
    expect(await next.leases.endReleased(held.session.id)).toBe(false);
    await old.fleet.markGone(held.runner.id);

    for (const { userId, place, replica } of line.slice()) {
      expect(await turns()).toEqual([place]);
      const { session, runner } = await replica.claim({ userId, waits: true });
      line.shift();
      expect(await turns()).toEqual([]);
      await replica.leases.end(session.id, null, null, 'released');
      await replica.fleet.markGone(runner.id);
    }
    expect(await database.query('select from omicron.waiting_callers')).toEqual([]);
  });
});

const SIGNATURE = /(function omicron\.may_act\(p_session uuid, p_epoch integer)\)/;

/** This release with a change of each kind that a later one may make. */
async function nextRelease(): Promise<DatabaseSchema> {
  const { migrations, functions } = await releasedSchema();
  const column = `alter table omicron.browser_sessions add column note text not null default ''`;
  return {
    migrations: [...migrations, { name: '9999_note.sql', sql: column }],
    functions: functions
      .filter(({ name }) => name !== 'artifacts.sql')
      .map(({ name, sql }) => ({ name, sql: sql.replace(SIGNATURE, '$1, p_note text default null)') })),
  };
}
