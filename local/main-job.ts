import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserSessions } from '../client/browser-sessions.ts';
import { secretNames } from '../contract/secrets.ts';
import type { Artifact } from '../contract/session.ts';
import { connectMcpBrowser, type McpBrowser } from './mcp-browser.ts';
import { type Steps, steps } from './steps.ts';
import { waitForRecordings } from './wait-for-recordings.ts';

const USER = 'demo-user';
const CONVERSATION = 'demo-chat';
const SITE = 'bakery';
const [USERNAME, PASSWORD] = secretNames(SITE);

export interface MainJob {
  readonly sessions: BrowserSessions;
  /** The page, or the demo site's login form. */
  readonly url: string;
  /** The demo site's customer; null: `url` is another page. */
  readonly login: { readonly username: string; readonly password: string } | null;
  /** File for the screenshot. */
  readonly screenshot: string;
  /** Limit for finishing and storing the recording; 30 unless given. */
  readonly recordingSeconds?: number;
  readonly print: (line?: string) => void;
}

/** The main job, step by step: credential, lease, login, screenshot, end, video, timeline. */
export async function mainJob(job: MainJob): Promise<{ sessionId: string; video: Artifact }> {
  const { sessions, url, login, screenshot, recordingSeconds = 30, print } = job;
  const { step } = steps(print);
  if (login)
    await step('store a credential', async say => {
      await sessions.putCredential(USER, SITE, login);
      say(`for site "${SITE}"; the agent sees only the names ${USERNAME} and ${PASSWORD}`);
    });
  // ports other than 80 and 443 must be allowed
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
      return connectMcpBrowser(lease);
    });
    await step('navigate', async say => {
      say(await browser.goto(url));
    });
    if (login) await logIn(browser, step);
    await step('take a screenshot', async say => {
      const { images } = await browser.call('browser_take_screenshot', { type: 'png' });
      await mkdir(dirname(screenshot), { recursive: true });
      await writeFile(screenshot, images[0] ?? '');
      say(showPath(screenshot));
    });
    await step('renew the lease', async say => {
      await lease.heartbeat();
      say(`it now expires at ${lease.expiresAt.toISOString()}`);
    });
  } finally {
    await step('end the lease', () => lease.end());
  }
  const { sessionId, epoch } = lease;
  const video = await step('wait for the recording', async say => {
    const [found] = await waitForRecordings(sessions, { sessionId, epoch, withinSeconds: recordingSeconds });
    if (found?.state !== 'stored' || !found.uri) throw new Error(`The recording was lost: ${found?.reason}`);
    const location = found.uri.startsWith('file:') ? showPath(fileURLToPath(found.uri)) : found.uri;
    say(`${location} (${Math.ceil((found.bytes ?? 0) / 1024)} KiB)`);
    return found;
  });
  await printTimeline(job, sessionId, epoch);
  return { sessionId, video };
}

const showPath = (path: string) => relative(process.cwd(), path) || '.';

async function logIn(browser: McpBrowser, step: Steps['step']): Promise<void> {
  await step('log in with secret names', async say => {
    await browser.call('browser_fill_form', {
      fields: [
        { name: 'E-mail', type: 'textbox', target: '#username', value: USERNAME },
        { name: 'Password', type: 'textbox', target: '#password', value: PASSWORD },
      ],
    });
    await browser.call('browser_click', { element: 'Log in', target: '#submit' });
    const heading = await browser.evaluate("() => document.querySelector('h1').textContent");
    say(`the page shows "${heading}"`);
    if (!String(heading).startsWith('Welcome back')) throw new Error('The login failed.');
  });
}

async function printTimeline({ sessions, print }: MainJob, sessionId: string, epoch: number): Promise<void> {
  const { events } = await sessions.listEvents(sessionId, { limit: 200 });
  const ours = events.filter(event => event.epoch === epoch).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const startMs = Date.parse(ours[0]?.at ?? '');
  print('\nTimeline of the session, as the controller recorded it:');
  for (const { at, kind, data } of ours) {
    const { tool, duration_ms, reason } = data;
    const detail = [tool, duration_ms === undefined ? undefined : `${duration_ms} ms`, reason]
      .filter(Boolean)
      .join(', ');
    print(`${String(Date.parse(at) - startMs).padStart(7)} ms  ${kind}${detail ? ` (${detail})` : ''}`);
  }
  print();
}
