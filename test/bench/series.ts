import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Database } from '../../controller/ports/database.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { type ControllerProcess, controllerProcess } from './controller-process.ts';
import { newDatabase } from './new-database.ts';
import { serverCpu } from './postgres-cpu.ts';
import { runnerStub, warmRunners } from './runner-stub.ts';

const CALLERS = 16;
const SCRAPES = 400;
const IDLE_MS = 10_000;

/**
 * CPU of Postgres in ms for one scrape, without that of the loops, which go on. The scrapes follow each other at once, so that the loops
 * have little part in them.
 */
async function postgresMsOfScrape(database: Database, controller: ControllerProcess): Promise<number> {
  const spent = async (work: () => Promise<unknown>) => {
    const [beganMs, before] = [performance.now(), await serverCpu(database)];
    await work();
    return { cpuMs: 1_000 * ((await serverCpu(database)) - before), ms: performance.now() - beganMs };
  };
  const idle = await spent(() => sleep(IDLE_MS));
  const scrapes = await spent(async () => {
    for (let n = 0; n < SCRAPES; n++) await controller.call('GET', '/metrics');
  });
  return Math.round((100 * (scrapes.cpuMs - (idle.cpuMs / idle.ms) * scrapes.ms)) / SCRAPES) / 100;
}

/**
 * Series that one controller exports while this many sessions are ready, each of a user of its own, and what one scrape of them costs
 * Postgres.
 */
export async function measureSeries(serverUrl: string, live: number) {
  const databaseUrl = await newDatabase(serverUrl, 'series');
  let controllerUrl = '';
  await using stub = await runnerStub(() => controllerUrl);
  await using controller = await controllerProcess(databaseUrl, { runnersUrl: stub.url });
  controllerUrl = controller.url;
  const database = postgresDatabase({ url: databaseUrl, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await warmRunners(database, stub.url, live);
  let next = 0;
  const caller = async () => {
    for (let n = next++; n < live; n = next++) {
      const body = { user_id: `user-${n}`, conversation_id: 'c', record_video: false, ttl_seconds: 3_600 };
      await controller.call('POST', '/internal/browser-sessions/get-or-create', body);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const text = await controller.call('GET', '/metrics');
  const ready = /^omicron_active_sessions (\d+)$/m.exec(text)?.[1];
  if (Number(ready) !== live) throw new Error(`${ready} of ${live} sessions are ready`);
  const scrape_postgres_ms = await postgresMsOfScrape(database, controller); // the goal is 5
  await database.close();
  return { series: text.split('\n').filter(line => line !== '' && !line.startsWith('#')).length, scrape_postgres_ms };
}
