// `npm run pictures`: the screenshots of docs/console.md and of the README, taken from a stack of their own with sample data.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { openConsole } from './open-console.ts';

const FOLDER = join(import.meta.dirname, '../../docs/images');
const WAIT_MS = 60_000;
const DESKTOP = { width: 1360, height: 900 };

await using console_ = await openConsole();
const { page, stack, sessions, site } = console_;
page.setDefaultTimeout(WAIT_MS);
await mkdir(FOLDER, { recursive: true });
await page.setViewportSize(DESKTOP);

const open = (path: string) => page.goto(`${stack.console.url}${path}`);
async function picture(name: string): Promise<void> {
  await eventually('the page is loaded', async () => (await page.getByText(/^Loading/).count()) === 0, WAIT_MS);
  await page.screenshot({ path: join(FOLDER, `console-${name}.png`) });
  process.stdout.write(`docs/images/console-${name}.png\n`);
}

await open('/');
await page.getByRole('heading').first().waitFor();
await picture('sign-in');
await page.goto(stack.console.link());
await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();

await sessions.putCredential('ada', 'bakery', { ...site.login, url: ['https://bakery.example'] });
await sessions.putCredential('ada', 'museum.example', { username: 'ada', password: 'difference-engine-1822' });

await sessions.importProfile('ada', 'mail', {
  cookies: ['mail.example', 'calendar.example'].map(domain => ({
    ...{
      name: 'login',
      value: 'x',
      domain,
      path: '/',
      expires: -1,
      httpOnly: true,
      secure: true,
      sameSite: 'Lax' as const,
    },
  })),
  origins: [],
});

const recorded = await sessions.acquire({ userId: 'ada', conversationId: 'find a loaf', tags: { team: 'bakery' } });
{
  await using agent = await connectMcpBrowser(recorded);
  await agent.goto(site.url);
  await agent.call('browser_click', { target: 'a' });
  await agent.call('browser_type', { target: '#username', text: 'ada@example.com' });
  await agent.call('browser_snapshot');
}
await recorded.end();

const lease = await sessions.acquire({
  ...{ userId: 'ada', conversationId: 'order bread', profile: 'bakery' },
  tags: { team: 'bakery', channel: 'chat' },
});
await using agent = await connectMcpBrowser(lease);
await agent.goto(`${site.url}/login`);
await agent.call('browser_navigate', { url: 'http://10.0.0.1/' }).catch(() => undefined); // refused: for the timeline
await agent.goto(`${site.url}/login`);
const other = await sessions.acquire({ userId: 'grace', conversationId: 'compare museums', tags: { team: 'travel' } });

await open('/');
await page.getByRole('row', { name: 'compare museums' }).getByText('ready').waitFor();
await picture('sessions');

const asking = agent
  .call('browser_request_user_action', { reason: 'Please log in to the bakery for me.', timeout: 120 })
  .catch(() => undefined);
await open('/requests');
await page.getByText('Please log in').waitFor();
await picture('requests');

await open(`/sessions/${lease.sessionId}`);
await page.getByRole('button', { name: 'Take control' }).click();
await page.getByText('You have control').waitFor();
await page.getByText('browser_navigate').first().waitFor();
await eventually('a picture', async () => (await page.locator('.unseen-yet').count()) === 0, WAIT_MS);
await picture('session');
await page.setViewportSize({ width: 390, height: 844 });
await page.emulateMedia({ colorScheme: 'dark' });
await picture('session-phone');
await page.setViewportSize(DESKTOP);
await page.emulateMedia({ colorScheme: 'light' });
await page.getByRole('article').getByRole('button', { name: 'Done' }).click();
await asking;

await page.setViewportSize({ width: 640, height: 520 });
await open(`/preview/${lease.sessionId}`);
await page.getByText('on the browser').waitFor();
await eventually('a picture', async () => (await page.locator('.unseen-yet').count()) === 0, WAIT_MS);
await picture('preview');
await page.setViewportSize(DESKTOP);

await open('/credentials?user=ada');
await page.getByText('BAKERY_PASSWORD').waitFor();
await picture('credentials');
await open('/profiles?user=ada');
await page.getByText('bakery').first().waitFor();
await picture('profiles');
await open('/policies');
await page.getByRole('button', { name: 'https-only' }).waitFor();
await picture('policies');

await eventually(
  'the video',
  async () => (await sessions.listArtifacts(recorded.sessionId)).some(({ state }) => state === 'stored'),
  WAIT_MS,
);
await open(`/sessions/${recorded.sessionId}/replay`);
await eventually(
  'its length',
  () => page.locator('video').evaluate(each => (each as unknown as { duration: number }).duration > 0),
  WAIT_MS,
);
await page.locator('.chapters button', { hasText: 'browser_type' }).click();
await picture('replay');
await Promise.all([lease.end(), other.end()]);
