import { readdirSync } from 'node:fs';
import type { Database } from '../../controller/ports/database.ts';
import { processStat } from '../process-stat.ts';

/** CPU seconds of a Postgres server: of its processes, and of those that have ended. */
export async function serverCpu(database: Pick<Database, 'query'>): Promise<number> {
  const [row] = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = processStat(row?.pid ?? 0)?.parent ?? 0;
  const own = processStat(server);
  if (own === undefined) throw new Error('the server has ended');
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return processes
    .map(processStat)
    .filter(each => each?.parent === server)
    .reduce((sum, each) => sum + (each?.cpu ?? 0), own.cpu + own.childrenCpu);
}
