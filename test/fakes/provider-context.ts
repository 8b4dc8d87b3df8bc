import { pino } from 'pino';
import type { ProviderContext } from '../../controller/ports/runners.ts';
import { httpRunnerLink } from '../../controller/runners/http-link.ts';
import { httpCalls } from '../../http/call.ts';
import { realClock } from '../../time/clock.ts';

/** The context that a controller would give a provider; nothing answers at its URL. */
export const providerContext = (change: Partial<ProviderContext> = {}): ProviderContext => ({
  controllerUrl: Promise.resolve('http://127.0.0.1:9'), // discard
  jwks: JSON.stringify({ keys: [] }),
  healthOf: httpRunnerLink({ send: httpCalls(), clock: realClock }).healthOf,
  onChange: () => {},
  onWrite: () => {},
  stopped: new AbortController().signal,
  clock: realClock,
  log: pino({ level: 'silent' }),
  ...change,
});
