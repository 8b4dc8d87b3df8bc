import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ENV } from '../../contract/names.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { fakeMachine } from '../fakes/runners.ts';
import { randomOf } from '../search.ts';
import { CHANGE_LOG, type Change, READ_CHANGES } from './change-log.ts';
import type { Failpoint } from './controller-process.ts';
import { type Killable, startKillable } from './killable.ts';
import { beCaller } from './platform-caller.ts';
import { judge } from './rules.ts';

const STATEMENTS = [
  ...[
    'acquire',
    'acquire',
    'redeem',
    'begin_assignment',
    'beat_claim',
    'end_lease',
    'may_act',
    'take_work',
    'runner_up',
  ],
  ...['runner_gone', 'plan_pool', 'expire_leases', 'drain_acknowledged', 'line_turns', 'leave_line', 'heartbeat'],
];
const MOMENTS = ['before', 'during', 'after'] as const;
const USERS = 3;
const CAPACITY = 2;
const USER_LIMIT = 2;
const QUIET_MS = 20_000;
const LET_GO_MS = 300;

/** Two controllers behind one address; who was killed is replaced. */
export async function startPair(server: string) {
  const { url, client } = await createDatabase(server);
  const dataDir = await mkdtemp(join(tmpdir(), 'omicron-prove-'));
  const machine = fakeMachine();
  const secret = randomBytes(32).toString('hex');
  const environment = {
    OMICRON_HOST: '127.0.0.1',
    OMICRON_PORT: 0,
    OMICRON_DATA_DIR: dataDir,
    [ENV.databaseUrl]: url,
    [ENV.serviceSecret]: secret,
    [ENV.egressSecret]: randomBytes(32).toString('hex'),
    [ENV.signingKey]: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
    [ENV.derivationKey]: randomBytes(32).toString('base64'),
    OMICRON_SECRET_STORE: 'file',
    OMICRON_SECRET_FILE_KEY: randomBytes(32).toString('base64'),
    OMICRON_REAP_SECONDS: 0.3,
    [ENV.claimSeconds]: 1,
    [ENV.startSeconds]: 20,
    [ENV.poolIdle]: 0,
    [ENV.userLimit]: USER_LIMIT,
    OMICRON_CAPACITY: CAPACITY,
  };
  const alive: Killable[] = [];
  const balancer = createServer(socket => {
    socket.on('error', () => {});
    const to = alive[Math.floor(Math.random() * alive.length)];
    if (to === undefined) return void socket.destroy();
    const upstream = connect(Number(new URL(to.url).port), '127.0.0.1');
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>(resolve => balancer.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
  const begin = () => startKillable(environment, machine, address, () => alive);
  const spare = { next: begin() };
  const enter = async () => {
    const entering = spare.next;
    spare.next = begin();
    entering.url = await entering.listening;
    alive.push(entering);
    void entering.exited.then(() => alive.splice(alive.indexOf(entering), 1));
  };
  await enter();
  await enter();
  let seen = 0;
  const changes = async (): Promise<Change[]> => {
    const { rows } = await client.query<Change>(READ_CHANGES, [seen]);
    seen = rows.at(-1)?.seq ?? seen;
    return rows;
  };
  await changes();
  const key = serviceKey(secret);
  return {
    async live(seed: number) {
      while (alive.length < 2) await enter();
      const random = randomOf(seed);
      const roll = (sides: number) => Math.floor(random() * sides);
      const failpoint: Failpoint = {
        statement: `omicron.${STATEMENTS[roll(STATEMENTS.length)]}(`,
        skip: roll(4),
        at: MOMENTS[roll(MOMENTS.length)] ?? 'before',
      };
      const victim = alive[0] as Killable;
      victim.tell({ kind: 'arm', failpoint });
      const serving = watchServing(machine);
      const callers = Array.from({ length: 3 + roll(4) }, (_, n) =>
        beCaller(address, () => signServiceToken(key), {
          user: `k${seed}-${roll(USERS)}`,
          conversation: `c${n % 2}`,
          deletes: roll(3) > 0,
          afterMs: roll(200),
        }),
      );
      void victim.exited.then(() => letGo(client)).catch(() => {}); // the history may be over
      const killer = setTimeout(() => victim.child.kill('SIGKILL'), 300 + roll(1_500));
      const unserved = (await Promise.all(callers)).filter(each => each !== null);
      const atFailpoint = victim.isOver;
      clearTimeout(killer);
      victim.child.kill('SIGKILL');
      await victim.exited;
      const quiet = await untilQuiet(client);
      const broken = [...unserved, ...serving.stop(), ...(quiet === null ? [] : [quiet])];
      const setup = {
        capacity: CAPACITY,
        userLimit: USER_LIMIT,
        users: USERS,
        conversations: 2,
        idle: 0,
        evicts: false,
        hibernates: false,
      };
      const record = { setup, provider: 'local', template: 't1', steps: null, changes: await changes(), errors: [] };
      broken.push(
        ...judge({ ...record, changes: [...permits(), ...record.changes] }).map(
          ({ rule, detail }) => `${rule}: ${detail}`,
        ),
      );
      return { broken, atFailpoint, failpoint };
    },
    async close() {
      const last = [...alive, spare.next];
      for (const { child } of last) child.kill('SIGKILL');
      await Promise.all(last.map(({ exited }) => exited));
      machine.close();
      balancer.close();
      await client.end();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** All were free when a history began. */
const permits = (): Change[] =>
  Array.from({ length: CAPACITY }, (_, slot) => ({
    ...{ seq: 0, step: null, tab: 'permits' as const, key: String(slot + 1), row: { runner_id: null }, tx: 0, at: 0 },
  }));

async function createDatabase(server: string) {
  const name = `kill_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client(`${server}/postgres`);
  await admin.connect();
  await admin.query(`create database ${name}`).finally(() => admin.end());
  const url = `${server}/${name}`;
  const client = new pg.Client(url);
  client.on('error', () => {}); // each statement says so itself
  await client.connect();
  await migrate({
    query: async <Row extends object>(sql: string, parameters: readonly unknown[] = []) =>
      (await client.query<Row>(sql, [...parameters])).rows,
    script: async sql => void (await client.query(sql)),
    close: async () => {},
  });
  // the clock is the real one here
  await client.query(
    'create schema proof; create function proof.clock_timestamp() returns timestamptz language sql as $$ select clock_timestamp() $$',
  );
  await client.query(CHANGE_LOG);
  return { url, client };
}

/** Two runners that serve one session, seen at any look. */
function watchServing(machine: ReturnType<typeof fakeMachine>) {
  const broken = new Set<string>();
  const look = () => {
    const leased = [...machine.runners.values()].filter(each => each.phase === 'leased' && each.exited === null);
    for (const [session, each] of Map.groupBy(leased, ({ assignment }) => assignment?.session_id))
      if (each.length > 1) broken.add(`one runner at most serves a session: ${session} has ${each.length}`);
  };
  const timer = setInterval(look, 5);
  return {
    stop(): string[] {
      clearInterval(timer);
      look();
      return [...broken];
    },
  };
}

/** Rows that the killed one worked on are free for the other, as after half a minute. */
async function letGo(client: pg.Client): Promise<void> {
  await sleep(LET_GO_MS);
  await client.query(`update omicron.runners set work_until = '-infinity' where state in ('creating', 'draining')`);
}

/** The survivor and its loops alone bring everything to an end. */
async function untilQuiet(client: pg.Client): Promise<string | null> {
  const deadlineMs = performance.now() + QUIET_MS;
  for (;;) {
    const { rows } = await client.query<{ runners: number; sessions: number; held: number }>(
      `select (select count(*)::int from omicron.runners where state <> 'gone') as runners,
              (select count(*)::int from omicron.browser_sessions where status in ('starting', 'ready')) as sessions,
              (select count(*)::int from omicron.permits where runner_id is not null) as held`,
    );
    const [left] = rows;
    if (left && left.runners + left.sessions + left.held === 0) return null;
    if (performance.now() > deadlineMs) return `not quiet after ${QUIET_MS} ms: ${JSON.stringify(left)}`;
    await sleep(50);
  }
}
