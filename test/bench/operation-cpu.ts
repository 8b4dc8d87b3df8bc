import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Database } from '../../controller/ports/database.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { type ControllerProcess, controllerProcess } from './controller-process.ts';
import { newDatabase } from './new-database.ts';
import { serverCpu } from './postgres-cpu.ts';
import { runnerStub, warmRunners } from './runner-stub.ts';
import { claimAndEnd } from './traced.ts';

const WARM = 2_000;
const LEASES_A_TURN = 200;
const TURNS = 6;
const CALLERS = 10;
const CALLS = 3_000;
const REST_MS = 5_000;
/** Backends send their counts once a second at most. */
const COUNTED_MS = 1_500;

interface Usage {
  readonly controller: number;
  readonly postgres: number;
  readonly transactions: number;
  readonly walBytes: number;
  readonly atMs: number;
}

async function usage(controller: ControllerProcess, database: Pick<Database, 'query'>): Promise<Usage> {
  const [row] = await database.query<{ transactions: number; wal: number }>(
    `select (xact_commit + xact_rollback)::float8 as transactions, (pg_current_wal_insert_lsn() - '0/0')::float8 as wal
       from pg_stat_database where datname = current_database()`,
  );
  return {
    controller: controller.cpu(),
    postgres: await serverCpu(database),
    transactions: row?.transactions ?? Number.NaN,
    walBytes: row?.wal ?? Number.NaN,
    atMs: performance.now(),
  };
}

const rounded = (value: number) => Math.round(value * 1_000) / 1_000;

/** CPU in ms of one operation that is repeated by ten callers. */
async function each(
  controller: ControllerProcess,
  database: Pick<Database, 'query'>,
  call: (n: number) => Promise<unknown>,
) {
  const before = await usage(controller, database);
  let next = 0;
  const caller = async () => {
    for (let n = next++; n < CALLS; n = next++) await call(n);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const after = await usage(controller, database);
  return {
    controller: rounded((1_000 * (after.controller - before.controller)) / CALLS),
    postgres: rounded((1_000 * (after.postgres - before.postgres)) / CALLS),
  };
}

async function allGone(database: Pick<Database, 'query'>): Promise<void> {
  while (
    (await database.query(`select from omicron.runners where state in ('claimed', 'leased', 'draining') limit 1`))
      .length > 0
  )
    await sleep(20);
}

/**
 * CPU of operations through HTTP, of a controller and of Postgres, with the controller's loops on and 2,000 warm runners: claim to end until the
 * runner is gone, with its statements (less those of the loops at rest) and its WAL; heartbeat; report. So that runs compare: of a `/healthz` and a
 * `select 1`, before and after the leases, since a shared machine changes its speed.
 */
export async function measureOperations(serverUrl: string) {
  const databaseUrl = await newDatabase(serverUrl, 'operations');
  let controllerUrl = '';
  await using stub = await runnerStub(() => controllerUrl);
  await using controller = await controllerProcess(databaseUrl, { runnersUrl: stub.url });
  controllerUrl = controller.url;
  const database = postgresDatabase({ url: databaseUrl, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await warmRunners(database, stub.url, WARM);
  const turn = async (name: string) => {
    await warmRunners(database, stub.url, LEASES_A_TURN);
    await claimAndEnd(controller, name, LEASES_A_TURN);
    await allGone(database);
  };
  const callEach = (call: (n: number) => Promise<unknown>) => each(controller, database, call);
  const reference = async () => ({
    healthz: (await callEach(() => controller.call('GET', '/healthz'))).controller,
    select: (await callEach(() => database.query('select 1'))).postgres,
  });
  await callEach(() => controller.call('GET', '/healthz')); // the first thousands take longer
  for (let n = 0; n < TURNS / 2; n++) await turn(`warm-up-${n}`);
  const referenceBefore = await reference();
  await database.query('select pg_stat_force_next_flush()'); // or its statements are counted among those of the leases
  await sleep(COUNTED_MS);
  const rested = await usage(controller, database);
  await sleep(REST_MS);
  const before = await usage(controller, database);
  for (let n = 0; n < TURNS; n++) await turn(`turn-${n}`);
  await sleep(COUNTED_MS);
  const after = await usage(controller, database);
  const leases = TURNS * LEASES_A_TURN;
  const restRate = (before.transactions - rested.transactions) / (before.atMs - rested.atMs);
  const statements = after.transactions - before.transactions - restRate * (after.atMs - before.atMs);

  const answer = await controller.call('POST', '/internal/browser-sessions/get-or-create', {
    user_id: 'held',
    conversation_id: 'c',
  });
  const { session_id } = JSON.parse(answer);
  const referenceAfter = await reference();
  const heartbeat = await callEach(() =>
    controller.call('POST', `/internal/browser-sessions/${session_id}/heartbeat`, {}),
  );
  const token = stub.leaseTokens.get(session_id);
  const operations = {
    heartbeat,
    report: await callEach(() => controller.call('POST', '/internal/runner-activity', { calls: 1 }, token)),
  };
  await database.close();
  return {
    claim_to_end_cpu_ms: {
      controller: rounded((1_000 * (after.controller - before.controller)) / leases),
      postgres: rounded((1_000 * (after.postgres - before.postgres)) / leases),
      statements: Math.round((10 * statements) / leases) / 10,
    },
    claim_to_end_wal_kb: Math.round((10 * (after.walBytes - before.walBytes)) / leases / 1_024) / 10,
    operations,
    reference_cpu_ms: {
      healthz: rounded((referenceBefore.healthz + referenceAfter.healthz) / 2),
      select: rounded((referenceBefore.select + referenceAfter.select) / 2),
    },
  };
}
