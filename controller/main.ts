import { pino } from 'pino';
import { ENV } from '../contract/names.ts';
import { startController } from './compose.ts';
import { readSettings } from './config.ts';
import { postgresDatabase } from './store/postgres.ts';

/** The controller as a process of its own, on Postgres. SIGTERM stops it gracefully; runners stay leased. */
async function main(): Promise<void> {
  const settings = readSettings(process.env);
  const log = pino({ name: 'controller', level: settings.OMICRON_LOG_LEVEL });
  const database = postgresDatabase({
    url: settings[ENV.databaseUrl],
    connectionsMax: settings.OMICRON_DATABASE_CONNECTIONS,
    log,
  });
  const runnerEnv = Object.fromEntries(
    [ENV.chromiumPath, ENV.chromiumSandbox, ENV.ffmpegPath, ENV.logLevel].flatMap(name => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const controller = await startController({ settings, database, log, runnerEnv });
  const stop = (name: NodeJS.Signals) => {
    log.info({ signal: name }, 'stopping; runners stay leased');
    controller
      .stop()
      .then(() => database.close())
      .then(
        () => process.exit(0),
        error => {
          log.error({ err: error }, 'the stop failed');
          process.exit(1);
        },
      );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch(error => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(2);
});
