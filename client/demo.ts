import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { ENV } from '../contract/names.ts';
import { secretNames } from '../contract/secrets.ts';
import { BrowserSessions } from './browser-sessions.ts';
import { type DemoSite, startDemoSite } from './demo-site.ts';
import { findTools, toolsEnvironment } from './machine-tools.ts';
import { connectBrowser, type McpBrowser } from './mcp-browser.ts';
import { recordings } from './recordings.ts';
import { type Stack, startStack } from './stack.ts';
import { StackFolder } from './stack-folder.ts';
import { steps } from './steps.ts';

// `npm run demo [-- https://page] [-- --folder .omicron]`: the main job, once, before the reader's eyes.

const USER = 'demo-user';
const CONVERSATION = 'demo-chat';
const SITE = 'bakery';
const [USERNAME, PASSWORD] = secretNames(SITE);
/** Finishing a recording and storing it takes a second or two. */
const RECORDING_SECONDS = 30;

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
    await demonstrate(new BrowserSessions(running), folder, url, site);
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

async function demonstrate(sessions: BrowserSessions, folder: StackFolder, url: string, site: DemoSite | null) {
  if (site)
    await step('store a credential', async say => {
      await sessions.putCredential(USER, SITE, site.login);
      say(`for "${SITE}"; the agent will only know the names ${USERNAME} and ${PASSWORD}`);
    });
  // 80 and 443 are open by themselves
  const { port } = new URL(url);
  if (port) await sessions.putPolicy({ userId: USER }, { version: 1, sites: { ports: [80, 443, Number(port)] } });
  const lease = await step('lease a browser', async say => {
    const leased = await sessions.acquire({ userId: USER, conversationId: CONVERSATION });
    say(`session ${leased.sessionId}, epoch ${leased.epoch}`);
    return leased;
  });
  try {
    await using browser = await step('connect an MCP client', say => {
      say(lease.mcpUrl);
      return connectBrowser(lease);
    });
    await step('navigate', async say => {
      say(await browser.goto(url));
    });
    if (site) await logIn(browser);
    await step('take a screenshot', async say => {
      const { images } = await browser.call('browser_take_screenshot');
      const path = join(folder.path, 'demo', 'screenshot.png');
      await mkdir(join(folder.path, 'demo'), { recursive: true });
      await writeFile(path, images[0] ?? '');
      say(shown(path));
    });
    await step('heartbeat', async say => {
      await lease.heartbeat();
      say(`the lease now ends at ${lease.expiresAt.toISOString()} unless it is used`);
    });
  } finally {
    await step('end the lease', () => lease.end());
  }
  await step('wait for the recording', async say => {
    const { sessionId, epoch } = lease;
    const [video] = await recordings(sessions, { sessionId, epoch, withinSeconds: RECORDING_SECONDS });
    if (video?.state !== 'stored' || !video.uri) throw new Error(`The recording was lost: ${video?.reason}`);
    say(`${shown(fileURLToPath(video.uri))} (${Math.ceil((video.bytes ?? 0) / 1024)} KiB)`);
  });
  await timeline(sessions, lease.sessionId, lease.epoch);
}

async function logIn(browser: McpBrowser): Promise<void> {
  await step('log in through secret names', async say => {
    await browser.call('browser_fill_form', {
      fields: [
        { name: 'E-mail', type: 'textbox', target: '#username', value: USERNAME },
        { name: 'Password', type: 'textbox', target: '#password', value: PASSWORD },
      ],
    });
    await browser.call('browser_click', { element: 'Log in', target: '#submit' });
    const heading = await browser.evaluate("() => document.querySelector('h1').textContent");
    say(`the page says "${heading}"`);
    if (!String(heading).startsWith('Welcome back')) throw new Error('The login failed.');
  });
}

async function timeline(sessions: BrowserSessions, sessionId: string, epoch: number): Promise<void> {
  const { events } = await sessions.events(sessionId, { limit: 200 });
  const ours = events.filter(event => event.epoch === epoch).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const startMs = Date.parse(ours[0]?.at ?? '');
  print("\nThe session's timeline, as the controller wrote it down:");
  for (const { at, kind, data } of ours) {
    const { tool, duration_ms, reason } = data;
    const detail = [tool, duration_ms === undefined ? undefined : `${duration_ms} ms`, reason]
      .filter(Boolean)
      .join(', ');
    print(`${String(Date.parse(at) - startMs).padStart(7)} ms  ${kind}${detail ? ` (${detail})` : ''}`);
  }
  print();
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
