import { pino } from 'pino';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { controllerProcess } from './controller-process.ts';
import { newDatabase } from './new-database.ts';
import { runnerStub, warmRunners } from './runner-stub.ts';

const CALLERS = 16;

/** Series that one controller exports while this many sessions are ready, each of a user of its own. */
export async function measureSeries(serverUrl: string, live: number): Promise<number> {
  const databaseUrl = await newDatabase(serverUrl, 'series');
  let controllerUrl = '';
  await using stub = await runnerStub(() => controllerUrl);
  await using controller = await controllerProcess(databaseUrl, { runnersUrl: stub.url });
  controllerUrl = controller.url;
  const database = postgresDatabase({ url: databaseUrl, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await warmRunners(database, stub.url, live);
  await database.close();
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
  return text.split('\n').filter(line => line !== '' && !line.startsWith('#')).length;
}
