import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { type ControllerProcess, controllerProcess } from './controller-process.ts';
import { newDatabase } from './new-database.ts';
import { serverCpu } from './postgres-cpu.ts';
import { runnerStub, warmRunners } from './runner-stub.ts';

const CALLERS = 10;
const LEASES_A_TURN = 200;
const TURNS = 30;
const WARM_UP_TURNS = 6;
/** Spans of a turn are exported within five seconds, the SDK's own delay. */
const EXPORTED_MS = 5_500;

/** Takes what is sent, reads none of it, and counts the bytes. */
async function sink() {
  let bytes = 0;
  const server = createServer((request, response) => {
    request
      .on('data', (part: Buffer) => {
        bytes += part.length;
      })
      .on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on TCP
    bytes: () => bytes,
    [Symbol.dispose]: () => void server.close().closeAllConnections(),
  };
}

/** Claims and ends this many leases, ten at once. */
export async function claimAndEnd(controller: ControllerProcess, name: string, leases = LEASES_A_TURN): Promise<void> {
  let next = 0;
  const caller = async () => {
    for (let n = next++; n < leases; n = next++) {
      const body = { user_id: `${name}-${n}`, conversation_id: 'c', record_video: false };
      const answer = await controller.call('POST', '/internal/browser-sessions/get-or-create', body);
      await controller.call('DELETE', `/internal/browser-sessions/${JSON.parse(answer).session_id}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

/** A controller with runners of its own, and turns of it. */
async function contender(databaseUrl: string, environment: Readonly<Record<string, string>>) {
  let controllerUrl = '';
  const stub = await runnerStub(() => controllerUrl);
  const controller = await controllerProcess(databaseUrl, { runnersUrl: stub.url, environment });
  controllerUrl = controller.url;
  const database = postgresDatabase({ url: databaseUrl, connectionsMax: 1, log: pino({ level: 'silent' }) });
  let turns = 0;
  let postgresSeconds = 0;
  return {
    controller,
    async turn(): Promise<void> {
      turns += 1;
      await warmRunners(database, stub.url, LEASES_A_TURN);
      const before = await serverCpu(database);
      await claimAndEnd(controller, `turn-${turns}`);
      postgresSeconds += (await serverCpu(database)) - before;
    },
    /** Seconds of a core so far: its own, and those of Postgres in its turns. */
    cpu: () => ({ controller: controller.cpu(), postgres: postgresSeconds }),
    async [Symbol.asyncDispose]() {
      await database.close();
      await controller[Symbol.asyncDispose]();
      await stub[Symbol.asyncDispose]();
    },
  };
}

/**
 * CPU of a controller and of Postgres from the claim of a warm runner to the end of its lease, with traces and metrics sent to a sink by OTLP and without.
 * Each controller has a process and a database of its own. They take short turns, since a shared machine changes its speed, and all that
 * each took from the first turn to the last is counted: what is exported after a turn too.
 */
export async function measureTraced(serverUrl: string) {
  using collector = await sink();
  await using plain = await contender(await newDatabase(serverUrl, 'untraced'), {});
  await using traced = await contender(await newDatabase(serverUrl, 'traced'), {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round++)
      for (const each of round % 2 === 0 ? [plain, traced] : [traced, plain]) await each.turn();
  };
  await rounds(WARM_UP_TURNS);
  const before = { plain: plain.cpu(), traced: traced.cpu(), bytes: collector.bytes() };
  await rounds(TURNS);
  await sleep(EXPORTED_MS);
  const leases = LEASES_A_TURN * TURNS;
  const costOf = (of: typeof plain, from: ReturnType<typeof of.cpu>) => {
    const now = of.cpu();
    const ms = (part: keyof typeof now) => (1_000 * (now[part] - from[part])) / leases;
    return { controller: ms('controller'), postgres: ms('postgres') };
  };
  const [plainMs, tracedMs] = [costOf(plain, before.plain), costOf(traced, before.traced)];
  return {
    traced_cpu_ratio: thousandths((tracedMs.controller + tracedMs.postgres) / (plainMs.controller + plainMs.postgres)), // the goal is 1.100
    traced: {
      leases,
      plain_cpu_ms: { controller: thousandths(plainMs.controller), postgres: thousandths(plainMs.postgres) },
      traced_cpu_ms: { controller: thousandths(tracedMs.controller), postgres: thousandths(tracedMs.postgres) },
      controller_cpu_ratio: thousandths(tracedMs.controller / plainMs.controller),
      otlp_bytes_a_lease: Math.round((collector.bytes() - before.bytes) / leases),
      lost_spans: traced.controller.lostSpans(),
    },
  };
}

const thousandths = (value: number) => Math.round(1_000 * value) / 1_000;
