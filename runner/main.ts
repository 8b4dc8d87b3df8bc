import { once } from 'node:events';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import { expiredFault } from '../contract/authorities.ts';
import { ENV, RUNNER_TRACES_PATH } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import { maySharePort } from '../http/share-port.ts';
import manifest from '../package.json' with { type: 'json' };
import { EnvironmentError } from '../process/environment.ts';
import { collectGarbage } from '../process/garbage.ts';
import { currentSpan, startTracing } from '../process/tracing.ts';
import { realClock } from '../time/clock.ts';
import { launchBrowser } from './browser/browser.ts';
import { BrowserNotFoundError, browserPath, commandPath } from './browser/browser-path.ts';
import { egressForwarder } from './browser/egress-forwarder.ts';
import { browserLimits } from './browser/limits.ts';
import { connectRemoteBrowser } from './browser/remote-browser.ts';
import { createTempDir } from './browser/temp-dir.ts';
import { createTrustStore } from './browser/trust-store.ts';
import { runnerServer } from './http.ts';
import { waitUntilAbandoned } from './reporting/abandoned.ts';
import { controllerClient } from './reporting/controller-client.ts';
import { createRunner } from './runner.ts';
import { type RunnerSettings, runnerSettings } from './settings.ts';
import { warmUp } from './warm-up.ts';
import { startWatchdog } from './watchdog.ts';

/**
 * How often an unleased runner pings its controller, and how long that may be unreachable before the runner exits:
 * longer than a rollout or a restart takes.
 */
const PING_MS = 15_000;
const CONTROLLER_GONE_MS = 120_000;
/** Requests from before the server closes are answered in this time. */
const LAST_ANSWERS_MS = 2_000;
/** How long the port is kept for a controller that has not taken it yet, or has not asked the process to end. */
const SUCCESSOR_MS = 2_000;
/**
 * How long a pod keeps its port besides: its name leads to the controller, and clients learn that once the answer of their name server is over. CoreDNS
 * gives it 5 s: <https://coredns.io/plugins/kubernetes/> (`ttl`).
 */
const LEFT_MS = 6_000;
/** After this time the process begins to exit, whatever has not ended. */
const END_MS = 10_000;

function settingsOrExit(): RunnerSettings {
  try {
    return runnerSettings(process.env);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

const settings = settingsOrExit();
const searchPath = process.env.PATH ?? '';
// Asynchronous, flushed at exit: a lease's start does not wait for the disk.
const lines = pino.destination({ dest: 1, sync: false });
const log = pino(
  { level: settings.logLevel, base: { runner_id: settings.runnerId }, mixin: () => ({ ...currentSpan() }) },
  lines,
);
const { version } = manifest;
const onLost = (spans: number) => log.warn({ spans }, 'spans lost: the collector does not take them');
// On a cluster the controller takes the spans (docs/adr/0114), and asks for a token. They end after the redemption, which brings it.
const isRelayed = process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT === settings.controllerUrl + RUNNER_TRACES_PATH;
let artifactToken: string | undefined;
const headers = (): Record<string, string> =>
  isRelayed && artifactToken !== undefined ? { authorization: `Bearer ${artifactToken}` } : {};
const stopTracing = await startTracing({ name: 'omicron-runner', version, onLost, headers }, process.env);
mkdirSync(settings.outputDir, { recursive: true });
const temp = createTempDir(settings.runnerId);
process.once('exit', () => temp.remove());
// Playwright's profile folders go there too; Playwright MCP lets an agent upload files of the working directory.
process.env.TMPDIR = temp.path;
process.chdir(temp.files);

if (!settings.chromiumSandbox)
  log.warn(`${ENV.chromiumSandbox}=off: the browser runs WITHOUT its sandbox; a page that breaks it owns this machine`);
const ffmpeg = commandPath(settings.ffmpegPath, searchPath);
if (ffmpeg === undefined)
  log.warn(`no ffmpeg at "${settings.ffmpegPath}": recording fails; install it or set ${ENV.ffmpegPath}`);

if (settings.insecureLoginOrigins.length > 0)
  log.warn({ origins: settings.insecureLoginOrigins }, `${ENV.insecureLoginOrigins}: passwords may go out unencrypted`);
if (settings.chromiumSpki !== undefined)
  log.warn(`${ENV.chromiumSpki}: a chain that contains a certificate with a listed key is trusted for every site`);
// An authority that expires while a deployment runs costs its own sites, and no runner.
const expired = expiredFault(settings.chromiumCa ?? [], Date.now());
if (expired !== undefined) log.warn(`${ENV.chromiumCa}: ${expired}; it is not trusted`);
const authorities = settings.chromiumCa?.filter(authority => expiredFault([authority], Date.now()) === undefined) ?? [];
const trustStore =
  authorities.length === 0 ? undefined : createTrustStore(authorities, join(temp.path, 'authorities'), searchPath);
const forwarder =
  settings.egressUrl === undefined
    ? undefined
    : await egressForwarder({
        egressUrl: settings.egressUrl,
        authorities: authorities.map(({ pem }) => pem),
        trustedSpki: settings.chromiumSpki,
      });
const trustedSpki = [settings.chromiumSpki, forwarder?.certificateSpki].filter(each => each !== undefined).join(',');

const remote = settings.remoteBrowser && (await text(process.stdin));
const controller = controllerClient(settings.controllerUrl, answer => {
  artifactToken = answer.artifact_token;
});
const runner = createRunner({
  runnerId: settings.runnerId,
  keys: settings.controllerKeys,
  controller,
  async launch(userDataDir, context) {
    if (remote !== undefined) return connectRemoteBrowser(remote, userDataDir);
    return launchBrowser({
      userDataDir,
      context,
      executable: executableOrThrow(settings.chromiumPath),
      sandbox: settings.chromiumSandbox,
      tempDir: userDataDir === undefined ? temp.path : temp.profile,
      egressUrl: forwarder?.proxyUrl,
      trustStore,
      trustedSpki: trustedSpki === '' ? undefined : trustedSpki,
      searchPath,
      limits: browserLimits(settings),
    });
  },
  async warmUp(browser) {
    // A browser elsewhere does not reach the page that it is warmed up with.
    if (remote === undefined) await warmUp(browser, temp.path);
  },
  forwarder,
  settings: { ...settings, ffmpegPath: ffmpeg ?? settings.ffmpegPath },
  filesDir: temp.files,
  profileDir: temp.profile,
  clock: realClock,
  log,
});

function executableOrThrow(given: string | undefined): string {
  try {
    return browserPath(given, searchPath, () => chromium.executablePath());
  } catch (error) {
    if (error instanceof BrowserNotFoundError) throw new OmicronError('runner_start_failed', error.message);
    throw error;
  }
}

const { promise: terminated, resolve: terminate } = Promise.withResolvers<void>();
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => {
    void runner.leave(`got ${signal}`);
    terminate();
  });
process.on('uncaughtException', error => {
  log.fatal({ err: error }, 'uncaught exception');
  runner.stop('an uncaught exception', 1);
});
// Playwright MCP shows unhandled rejections to the agent; here they are at least not lost.
process.on('unhandledRejection', reason => log.error({ err: reason }, 'unhandled rejection'));

const server = runnerServer(runner, { mcpOrigins: settings.mcpOrigins, log });
server.on('error', error => {
  log.fatal({ err: error }, `cannot listen on ${settings.host}:${settings.port}`);
  process.exit(1);
});
// On a machine of several runners the controller takes the port before it sends SIGTERM, so that clients find either of the two. In
// a pod the port is its own, and the lease's Service begins to lead to the controller.
const isPod = settings.portFile === undefined;
const sharesPort = !isPod && maySharePort;
server.listen({ port: settings.port, host: settings.host, reusePort: sharesPort });
await once(server, 'listening');
// A server without a path has an AddressInfo.
const { port } = server.address() as AddressInfo;
if (settings.portFile !== undefined) {
  writeFileSync(`${settings.portFile}.tmp`, String(port));
  renameSync(`${settings.portFile}.tmp`, settings.portFile);
}
log.info({ boot_id: runner.bootId, port }, 'listening');
// Loading leaves 30 MB of garbage that an idle process would keep: measured.
void runner.warm().then(collectGarbage);
// Elsewhere the controller does it (controller/runners/local/answer-watch.ts).
if (isPod) startWatchdog({ runnerId: settings.runnerId, host: settings.host, port, log });

const ending = new AbortController();
void runner.stopped.then(() => {
  ending.abort();
  // A client's next connection leads to who answers then; one that was kept would break with this process.
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
});
void waitUntilAbandoned({
  isUnleased: runner.isUnleased,
  ping: controller.ping,
  everyMs: PING_MS,
  goneAfterMs: CONTROLLER_GONE_MS,
  signal: ending.signal,
  clock: realClock,
}).then(gone => gone && runner.stop('the controller is gone and the runner is not leased'));

const exitCode = await Promise.race([runner.ended, tooLate()]);
if (exitCode === 0 && (isPod || sharesPort)) {
  // The signal says that the controller has the port; in a pod, that the lease's name leads to the controller.
  await Promise.race([terminated, delay(SUCCESSOR_MS)]);
  if (isPod) await delay(LEFT_MS);
}
await allAccepted();
server.close();
server.closeIdleConnections();
await Promise.race([once(server, 'close'), delay(LAST_ANSWERS_MS)]);
server.closeAllConnections();
await stopTracing();
log.info({ exit_code: exitCode }, 'ended');
process.exit(exitCode);

/** Closing a server resets the connections that wait to be accepted: none does after a turn of the event loop that brought none. */
async function allAccepted(): Promise<void> {
  let came: boolean;
  const onConnection = () => {
    came = true;
  };
  server.on('connection', onConnection);
  do {
    came = false;
    await nextTurn();
  } while (came);
  server.off('connection', onConnection);
}

/** Counts from when the runner begins to stop. */
async function tooLate(): Promise<number> {
  await runner.stopped;
  await delay(END_MS, undefined, { ref: false });
  log.error(`shutdown took more than ${END_MS} ms`);
  return 1;
}
