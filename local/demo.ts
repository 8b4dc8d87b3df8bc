import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { BrowserSessions } from '../client/browser-sessions.ts';
import { ENV } from '../contract/names.ts';
import { type DemoSite, startDemoSite } from './demo-site.ts';
import { findTools, toolsEnvironment } from './machine-tools.ts';
import { mainJob } from './main-job.ts';
import { type Stack, startStack } from './stack.ts';
import { StackFolder } from './stack-folder.ts';
import { steps } from './steps.ts';

// `npm run demo [-- https://page] [-- --folder .omicron]`: the main job, once, before the reader's eyes.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: 'string', default: '.omicron' } },
});
const print = (line = '') => process.stdout.write(`${line}\n`);
const { step } = steps(print);
const shown = (path: string) => relative(process.cwd(), path) || '.';

async function main(page: URL | null): Promise<void> {
  const folder = new StackFolder(values.folder);
  const site = page === null ? await startDemoSite() : null;
  const url = page?.href ?? `${site?.url}/login`;
  print(`omicron-browser: one chat's leased browser, on ${page === null ? 'the bundled demo site' : url}\n`);
  let stack: Stack | null = null;
  try {
    const { running, started } = await step(
      'start the local stack (database, controller, one warm browser)',
      async say => {
        const other = await folder.running();
        const own = other ? null : await startLocalStack(folder, site);
        say(
          other ? `the one that runs at ${other.url}` : `${own?.url}, everything it keeps is in ${shown(folder.path)}`,
        );
        return { running: other ?? own, started: own };
      },
    );
    stack = started;
    if (running === null) throw new Error('no stack');
    await mainJob({
      sessions: new BrowserSessions(running),
      url,
      login: site?.login ?? null,
      screenshot: join(folder.path, 'demo', 'screenshot.png'),
      print,
    });
  } finally {
    if (stack) await step('stop the stack; nothing is left running', () => stack?.stop() ?? Promise.resolve());
    await site?.close();
  }
}

/** Ranges that the environment opens, as for `omicron-browser up`. */
const opened = (process.env.OMICRON_EGRESS_ALLOWED_CIDRS ?? '').split(/[\s,]+/).filter(Boolean);

/** The demo site is on loopback and speaks http: the way out and the login rule are opened for it alone. */
async function startLocalStack(folder: StackFolder, site: DemoSite | null): Promise<Stack> {
  const stack = await startStack({
    egress: { allowedCidrs: site ? [...opened, `${new URL(site.url).hostname}/32`] : opened },
    folder: folder.path,
    log: pino(pino.destination({ dest: folder.logFile, mkdir: true, mode: 0o600 })),
    runnerEnv: {
      ...toolsEnvironment(findTools(process.env)),
      ...(site ? { [ENV.insecureLoginOrigins]: site.url } : {}),
    },
  });
  await warm(stack);
  return stack;
}

/** The pool fills by itself; the demo waits a while so that the lease it shows is a warm one. */
async function warm({ url }: Stack): Promise<void> {
  const deadline = AbortSignal.timeout(60_000);
  while (!deadline.aborted) {
    const health = (await (await fetch(`${url}/health`)).json()) as { runners: Record<string, number> }; // the controller's own document
    if (health.runners.warm) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

const [given] = positionals;
if (given !== undefined && !/^https?:$/.test(URL.canParse(given) ? new URL(given).protocol : '')) {
  process.stderr.write(`"${given}" is not an http(s) URL.\n`);
  process.exit(2);
}
await main(given === undefined ? null : new URL(given)).catch(error => {
  process.stderr.write(`\n${error.code ? `${error.code}: ` : ''}${error.message}\n`);
  process.exitCode = 1;
});
