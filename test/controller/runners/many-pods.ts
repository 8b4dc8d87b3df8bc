import { monitorEventLoopDelay } from 'node:perf_hooks';
import { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { kubernetesRunners } from '../../../controller/runners/kubernetes/provider.ts';
import { realClock } from '../../../time/clock.ts';

// A program of its own, so that its memory has a limit: the provider lists what the API server at port `argv[2]` has, and lists it
// again. Sends its parent how many runners it knows after each, and for how long its event loop stood at most.

const LISTS_AGAIN_AFTER_MS = 60_000;

const config = new KubeConfig();
config.loadFromClusterAndUser(
  { name: 'c', server: `http://127.0.0.1:${process.argv[2]}`, skipTLSVerify: true },
  { name: 'u' },
);
const relists: (() => void)[] = [];
const provider = kubernetesRunners({
  ...{ config, namespace: 'omicron-browser', templateName: 'pw-mcp-runner' },
  healthOf: async () => null,
  onChange() {},
  onWrite() {},
  stopped: new AbortController().signal,
  clock: {
    ...realClock,
    // Each list is followed by the wait for the next one: it ends when this program says so.
    sleep: (ms, signal, idle) =>
      ms < LISTS_AGAIN_AFTER_MS / 2
        ? realClock.sleep(ms, signal, idle)
        : new Promise((resolve, reject) => {
            relists.push(resolve);
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          }),
  },
  log: pino({ level: 'silent' }),
});
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
await provider.start();
const first = (await provider.list()).length;
for (const relist of relists.splice(0)) relist();
while (relists.length < 2) await new Promise(resolve => setTimeout(resolve, 20)); // pods and templates wait again
const second = (await provider.list()).length;
process.send?.({ first, second, stoodMs: Math.round(delay.max / 1e6), rssMiB: process.memoryUsage.rss() >> 20 });
provider.stop();
process.exit(0);
