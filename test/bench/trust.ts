/**
 * The cost and worth of watching a deployment: `npm run bench -- trust [--live 5000]`. Series of a controller with many sessions, the CPU of
 * tracing (as `scale --traced`), and events that are delivered. Writes section `trust` of `.omicron/bench.json`.
 */
import { parseArgs } from 'node:util';
import { ENV } from '../../contract/names.ts';
import { startPostgresServer } from '../postgres-server.ts';
import { measureEventRate } from './event-rate.ts';
import { machine, writeSections } from './figures.ts';
import { newDatabase } from './new-database.ts';
import { measureSeries } from './series.ts';
import { measureTraced } from './traced.ts';

const { values } = parseArgs({ options: { live: { type: 'string', default: '5000' } } });
const EVENT_SECONDS = 10;

const server = await startPostgresServer({ server: ['-c', 'synchronous_commit=off'] });
try {
  const trust = {
    series: await measureSeries(server.url, Number(values.live)),
    ...(await measureTraced(server.url)),
    events: await measureEventRate(EVENT_SECONDS, { [ENV.databaseUrl]: await newDatabase(server.url, 'events') }),
    machine: machine(),
  };
  process.stdout.write(`${JSON.stringify(trust, null, 2)}\n`);
  writeSections({ trust });
} finally {
  await server.stop();
}
