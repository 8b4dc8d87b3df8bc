import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { startWatchdog } from '../../runner/watchdog.ts';

// A server under the watchdog: it answers after `lateMs`, and its thread is held for `hold` milliseconds on request.
const lateMs = Number(process.argv[2]);
const server = createServer(async (request, response) => {
  const holdMs = Number(new URL(request.url ?? '/', 'http://runner').searchParams.get('hold'));
  for (const endMs = performance.now() + holdMs; performance.now() < endMs; );
  if (request.method === 'HEAD') await delay(lateMs);
  response.end();
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number }; // it has no path
  startWatchdog({ runnerId: 'watched', host: '127.0.0.1', port, log: pino({ level: 'silent' }) });
  process.stdout.write(`${port}\n`);
});
