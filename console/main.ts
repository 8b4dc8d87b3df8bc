import { pino } from 'pino';
import { ENV } from '../contract/names.ts';
import { signInBy } from './identity.ts';
import { startConsole } from './server/console.ts';
import { parseConsoleSettings } from './settings.ts';

// Entry of the console on a cluster. The local stack starts the console in its own process.

const log = pino({ name: 'console' });

try {
  const settings = parseConsoleSettings(process.env);
  for (const name of [ENV.serviceSecret, ENV.consoleOidcClientSecret, ENV.consolePlatformSecret])
    delete process.env[name];
  const { url, host, port, controllerUrl, serviceSecret, embedOrigins, ffmpeg } = settings;
  const running = await startConsole({
    url,
    listen: { host, port },
    controllerUrl,
    serviceSecret,
    embedOrigins,
    ffmpeg,
    log,
    identity: signInBy(settings),
  });
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'console stopping');
    void running.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
} catch (cause) {
  log.fatal(cause instanceof Error ? cause.message : 'console failed to start');
  process.exit(1);
}
