import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { BrowserSessions } from '../client/browser-sessions.ts';
import { ENV } from '../contract/names.ts';
import { realClock } from '../time/clock.ts';
import { type DemoSite, startDemoSite } from './demo-site.ts';
import { mainJob } from './main-job.ts';
import { type Stack, startStack } from './stack.ts';
import { stackEnvironment } from './stack-environment.ts';
import { StackFolder } from './stack-folder.ts';
import { steps } from './steps.ts';
import { countWarmRunners } from './warm-runners.ts';

// Entry of `npm run demo [-- https://page] [-- --folder .omicron]`: runs the main job once and prints each step.

const WARM_SECONDS = 60;
const POLL_MS = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: 'string', default: '.omicron' } },
});
const print = (line = '') => process.stdout.write(`${line}\n`);
const { step } = steps(print);
const showPath = (path: string) => relative(process.cwd(), path) || '.';

async function demo(page: string | undefined): Promise<void> {
  const folder = new StackFolder(values.folder);
  await using parts = new AsyncDisposableStack();
  const site = page === undefined ? await startDemoSite() : null;
  if (site) parts.defer(() => site.close());
  print(
    `omicron-browser demo: lease a browser for one conversation and use it on ${page ?? 'the bundled demo site'}\n`,
  );
  const connection = await step('start the local stack (database, controller, one warm browser)', async say => {
    const running = await folder.running();
    if (running) {
      say(`already running at ${running.url}`);
      return running;
    }
    const stack = await startDemoStack(folder, site);
    parts.defer(() => step('stop the local stack; nothing is left running', () => stack.stop()));
    say(`${stack.url}, its data is in ${showPath(folder.path)}; watch it live: ${stack.console.link()}`);
    return stack;
  });
  await mainJob({
    sessions: new BrowserSessions(connection),
    url: page ?? `${site?.url}/login`,
    login: site?.login ?? null,
    screenshot: join(folder.path, 'demo', 'screenshot.png'),
    print,
  });
}

/** The demo site is on loopback and speaks http: egress and the login rule are opened for it alone. */
async function startDemoStack(folder: StackFolder, site: DemoSite | null): Promise<Stack> {
  const { databaseUrl, egress, settings, runnerEnv } = stackEnvironment(process.env);
  const siteCidrs = site ? [`${new URL(site.url).hostname}/32`] : [];
  const stack = await startStack({
    folder: folder.path,
    databaseUrl,
    egress: egress === 'off' ? egress : { allowedCidrs: [...egress.allowedCidrs, ...siteCidrs] },
    settings,
    runnerEnv: { ...runnerEnv, ...(site && { [ENV.insecureLoginOrigins]: site.url }) },
    log: pino(pino.destination({ dest: folder.logFile, mkdir: true, mode: 0o600 })),
  });
  await waitForWarmRunner(stack);
  return stack;
}

/** The pool fills by itself; the demo waits for it, so that the lease it shows is served by a warm runner. */
async function waitForWarmRunner({ url }: Stack): Promise<void> {
  const deadline = AbortSignal.timeout(WARM_SECONDS * 1_000);
  while (!deadline.aborted) {
    if ((await countWarmRunners(url)) > 0) return;
    await realClock.sleep(POLL_MS, deadline).catch(() => {}); // the demo goes on without one
  }
}

const [page] = positionals;
if (page !== undefined && !/^https?:$/.test(URL.parse(page)?.protocol ?? '')) {
  process.stderr.write(`"${page}" is not an http(s) URL.\n`);
  process.exit(2);
}
await demo(page).catch(error => {
  process.stderr.write(`\n${error.code ? `${error.code}: ` : ''}${error.message}\n`);
  process.exitCode = 1;
});
