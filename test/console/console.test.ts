import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Lease } from '../../client/lease.ts';
import type { DemoSite } from '../../local/demo-site.ts';
import { connectMcpBrowser, type McpBrowser } from '../../local/mcp-browser.ts';
import type { Stack } from '../../local/stack.ts';
import { eventually } from '../eventually.ts';
import { testCertificate } from '../site/certificate.ts';
import { accessibilityFaults, type OpenConsole, openConsole, phoneFaults } from './open-console.ts';

const PASSWORD = 'correct-horse-battery-7391';

let console: OpenConsole;
let site: DemoSite;
let stack: Stack;
let sessions: BrowserSessions;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let lease: Lease;
let agent: McpBrowser;

beforeAll(async () => {
  console = await openConsole();
  ({ site, stack, sessions, browser, context, page } = console);
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await console?.[Symbol.asyncDispose]();
});

const see = (text: string | RegExp) => page.getByText(text).first().waitFor();
const open = (path: string) => page.goto(`${stack.console.url}${path}`);
/** The answer of the console's server to a request from outside its pages. */
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${stack.console.url}${path}`, { method, headers });
const cookie = async () => (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');

describe('signing in', () => {
  it('asks for a link where there is no sign-in', async () => {
    await open('/');
    await see('npx --no-install omicron-browser console');
    expect(await phoneFaults(page)).toEqual([]);
    expect((await ask('/api/browser-sessions')).status).toBe(401);
  });

  it('a link signs in once, and leaves neither the address bar nor a script the means to do it again', async () => {
    const link = stack.console.link();
    await page.goto(link);
    await see('No sessions yet');
    expect(page.url()).toBe(`${stack.console.url}/`);
    const [kept, ...others] = await context.cookies();
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });

    const second = await browser.newContext();
    const stranger = await second.newPage();
    await stranger.goto(link);
    await stranger.getByRole('alert').getByText('This link was opened before').waitFor();
    expect(await second.cookies()).toEqual([]);
    await second.close();
  });

  it('refuses what another site makes the browser send', async () => {
    const held = { cookie: await cookie() };
    expect((await ask('/api/browser-sessions', held)).status).toBe(200);
    const forged = { ...held, origin: 'http://127.0.0.1:1', 'content-type': 'application/json' };
    expect((await ask('/api/policy', forged, 'DELETE')).status).toBe(403);
    expect((await ask('/api/policy', held, 'DELETE')).status).toBe(403);
    expect(await sessions.getPolicy({})).not.toBeNull();
    const elsewhere = stack.console.url.replace('127.0.0.1', 'localhost');
    expect((await fetch(`${elsewhere}/api/browser-sessions`, { headers: held })).status).toBe(403);
  });

  it('passes on only what its pages need: no lease, no redemption, no other route', async () => {
    const own = { cookie: await cookie(), origin: stack.console.url };
    for (const path of ['/api/browser-sessions/get-or-create', '/api/runner-secrets', '/internal/policy'])
      expect((await ask(path, own, 'POST')).status, path).toBe(404);
    // `fetch` would resolve the dots itself
    const sent = request(stack.console.url, { path: '/api/users/%2e%2e/policy', headers: { ...own } }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(400);
  });
});

describe('sessions', () => {
  beforeAll(async () => {
    lease = await sessions.acquire({ userId: 'ada', conversationId: 'bread', tags: { team: 'bakery' } });
    agent = await connectMcpBrowser(lease);
  });

  it('a lease appears by itself, with the counts and the filters', async () => {
    const row = page.getByRole('row', { name: 'bread' });
    await row.getByText('ready').waitFor();
    await page.locator('.counts div', { hasText: 'Live leases' }).getByText('1', { exact: true }).waitFor();
    await page.getByLabel('User').fill('grace');
    await page.waitForResponse(/browser-sessions\?/);
    await page.waitForRequest(/browser-sessions\?/); // the answer before it is shown, and what is typed is still there
    await page.getByRole('button', { name: 'Apply' }).click();
    await see('No session matches');
    await open('/?tag=team:bakery&status=ready');
    await row.waitFor();
  });

  it("shows a session's lease, and its timeline as it grows", async () => {
    await page.getByRole('link', { name: 'bread' }).click();
    await see('session.ready');
    await see('Expires unless used');
    await agent.goto(site.url);
    await see('browser_navigate');
    await agent.call('browser_navigate', { url: 'http://10.0.0.1/' }).catch(() => {}); // refused: a private address
    await page.getByLabel('Egress denials').check();
    await see('egress.denied');
    await page.getByLabel('Everything').check();
    await page.getByLabel('Code of the events').selectOption('port_refused');
    await see('egress.denied');
    await page.getByText('session.ready').waitFor({ state: 'detached' });
    await page.getByLabel('Code of the events').selectOption('');
  });

  it('a request of the agent appears at once, and the answer reaches the agent', async () => {
    const asking = agent.call('browser_request_user_action', { reason: 'Which loaf?', timeout: 60 });
    await see('Which loaf?');
    await page.getByRole('link', { name: /Requests\s*1 waiting/ }).click();
    const request = page.getByRole('article', { name: 'Request: Which loaf?' });
    await request.getByLabel(/Message to the agent/).fill('the rye');
    await request.getByRole('button', { name: 'Done' }).click();
    expect(JSON.parse((await asking).text)).toMatchObject({ success: true, status: 'done', note: 'the rye' });
    await see('No agent waits for you');
  });

  it('asks whether a credential may be used on a site: once, always or no', async () => {
    const id = crypto.randomUUID();
    const question = {
      ...{ id, session_id: lease.sessionId, epoch: 1, status: 'pending', note: null, answered_at: null },
      ...{ user_id: 'ada', conversation_id: 'bread', reason: 'Use the password of walmart at www.walmart.com?' },
      credential: { site: 'walmart', host: 'www.walmart.com', target: 'walmart.com' },
      created_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 600_000).toISOString(),
    };
    const answers: unknown[] = [];
    await page.route(/\/user-actions$/, route => route.fulfill({ json: { user_actions: [question] } }));
    await page.route(new RegExp(`/user-actions/${id}$`), route => {
      answers.push(route.request().postDataJSON());
      return route.fulfill({ json: { ...question, ...route.request().postDataJSON() } });
    });
    await open('/requests');
    const request = page.getByRole('article', { name: `Request: ${question.reason}` });
    await request.getByText('“Always” stores walmart.com with it').waitFor();
    for (const name of ['Once', 'Always', 'No'])
      await Promise.all([
        page.waitForResponse(new RegExp(id)),
        request.getByRole('button', { name, exact: true }).click(),
      ]);
    expect(answers).toEqual([{ status: 'done' }, { status: 'done', always: true }, { status: 'declined' }]);
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('ends a lease after a question, and says why it ended', async () => {
    await open(`/sessions/${lease.sessionId}`);
    await page.getByRole('button', { name: 'End the lease' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'End the lease' }).click();
    await page.getByRole('group').getByRole('button', { name: 'End the lease' }).click();
    await see('released by its platform or here');
    expect((await sessions.get(lease.sessionId)).status).toBe('ended');
    await see(/stored, \d/); // its video
  });
});

describe('credentials', () => {
  it('stores one with where it may be filled, and never shows its values again', async () => {
    await open('/credentials');
    await page.getByLabel('User').fill('ada');
    await page.getByRole('button', { name: 'Show' }).click();
    await see('ada has no credential');
    const answers: string[] = [];
    page.on('response', async response => answers.push(await response.text().catch(() => '')));
    const form = page.getByRole('form', { name: 'New credential' });
    await form.getByLabel('Site key').fill('bakery');
    await form.getByLabel('Username').fill('ada@example.com');
    await form.getByLabel('Password').fill(PASSWORD);
    await form.getByLabel('May be filled on').fill('bakery.example https://login.example');
    await form.getByRole('button', { name: 'Add' }).click();
    await see('The credential of bakery is stored.');
    await see('BAKERY_PASSWORD');
    await page.reload();
    await see('Filled on bakery.example, https://login.example');
    expect(answers.join('\n') + (await page.content())).not.toContain(PASSWORD);
    const [stored] = (await sessions.listCredentials('ada')).sites;
    expect(stored?.url).toEqual(['bakery.example', 'https://login.example']);
  });

  it('says which target is wrong, and keeps what is stored', async () => {
    await page.getByRole('button', { name: 'Edit bakery' }).click();
    const form = page.getByRole('form', { name: 'Credential of bakery' });
    await form.getByLabel('Username').fill('ada');
    await form.getByLabel('Password').fill('another');
    await form.getByLabel('May be filled on').fill('http://plain.example');
    await form.getByRole('button', { name: 'Replace' }).click();
    await form.getByRole('alert').getByText('must be an https address').waitFor();
    await form.getByRole('button', { name: 'Cancel' }).click();
  });

  it('[A9] tests one against its site in a browser of its own, and shows where that led', async () => {
    const test = async (password: string) => {
      await sessions.putCredential('ada', 'bakery', { ...site.login, password }); // no url: the site of the tests has no https
      await open('/credentials?user=ada');
      await page.getByRole('button', { name: 'Test bakery' }).click();
      const form = page.getByRole('form', { name: 'Test of bakery' });
      await form.getByLabel('Page with the login form').fill(`${site.url}/login`);
      await form.getByRole('button', { name: 'Log in as a test' }).click();
      return form;
    };
    const right = await test(site.login.password);
    await right.getByText(`The browser was at ${site.url}/orders`).waitFor();
    await right.getByRole('img', { name: 'The page after the login was tried' }).waitFor();
    const wrong = await test('not the password');
    await wrong.getByText(`The browser was at ${site.url}/login`).waitFor();
    await wrong.getByRole('button', { name: 'Close' }).click();
    expect(await page.content()).not.toContain(site.login.password);
    const { sessions: left } = await sessions.list({
      userId: 'ada',
      tags: { purpose: 'credential-test' },
      archived: true,
    });
    expect(left.map(({ status }) => status)).toEqual(['ended', 'ended']);
    expect((await sessions.list({ userId: 'ada', tags: { purpose: 'credential-test' } })).sessions).toEqual([]);
  });

  it('says which one is filled nowhere, and why', async () => {
    await sessions.putCredential('ada', 'warehouse', { username: 'ada', password: PASSWORD });
    await page.reload();
    await see('Filled nowhere: nothing says where "warehouse" may be used: store it again with its site');
    await sessions.deleteCredential('ada', 'warehouse');
  });

  it('stores a client certificate, without a username', async () => {
    const { cert, key } = testCertificate('ada');
    const form = page.getByRole('form', { name: 'New credential' });
    await form.getByLabel('Site key').fill('bank');
    await form.getByLabel('May be filled on').fill('https://bank.example');
    await form.getByLabel('Client certificate').setInputFiles([
      { name: 'ada.pem', mimeType: 'application/x-pem-file', buffer: Buffer.from(cert) },
      { name: 'ada.key', mimeType: 'application/x-pem-file', buffer: Buffer.from(key) },
    ]);
    await form.getByRole('button', { name: 'Add' }).click();
    await see('The credential of bank is stored.');
    await see('The browser shows its client certificate to the site.');
    expect((await sessions.listCredentials('ada')).sites).toContainEqual(
      expect.objectContaining({ site: 'bank', secret_names: [], client_certificate: true, problem: null }),
    );
    await sessions.deleteCredential('ada', 'bank');
  });

  it('deletes one after a question', async () => {
    await page.getByRole('button', { name: 'Delete bakery' }).click();
    await page.getByRole('group').getByRole('button', { name: 'Delete bakery' }).click();
    await see('The credential of bakery is deleted.');
    expect(await sessions.listCredentials('ada')).toEqual({ sites: [] });
  });
});

describe('profiles', () => {
  it('checks on a page of a site whether a saved login still holds', async () => {
    const { hostname: domain } = new URL(site.url);
    const login = { name: 'bakery', value: 'ada', domain, path: '/', expires: -1 };
    const cookies = [{ ...login, httpOnly: true, secure: false, sameSite: 'Lax' as const }];
    await sessions.importProfile('ada', 'orders', { cookies, origins: [] });
    await open('/profiles?user=ada');
    await page.getByRole('button', { name: 'Check login' }).click();
    const form = page.getByRole('form', { name: 'Check of orders' });
    for (const [text, result] of [
      ['Welcome back, Ada', `Logged in. The browser was at ${site.url}/orders.`],
      ['Welcome back, Grace', 'Not logged in: the page does not show this text.'],
    ] as const) {
      await form.getByLabel('Page').fill(`${site.url}/orders`);
      await form.getByLabel('Text that it shows when logged in').fill(text);
      await form.getByRole('button', { name: 'Check' }).click();
      await form.getByRole('status').filter({ hasText: result }).waitFor();
    }
    await sessions.deleteProfile('ada', 'orders');
  });

  it('shows where a user stays logged in, restores an older version and deletes', async () => {
    const cookie = (value: string) => ({
      ...{ name: 'login', value, domain: 'bakery.example', path: '/', expires: -1 },
      ...{ httpOnly: true, secure: true, sameSite: 'Lax' as const },
    });
    for (const value of ['one', 'two'])
      await sessions.importProfile('ada', 'work', { cookies: [cookie(value)], origins: [] });
    await open('/profiles?user=ada');
    await see('bakery.example');
    await page.getByRole('button', { name: 'Versions' }).click();
    await page.getByRole('button', { name: 'Restore 1' }).click();
    await page.getByRole('group').getByRole('button', { name: 'Restore 1' }).click();
    await see('Version 1 of work is the current one again.');
    expect((await sessions.exportProfile('ada', 'work')).cookies).toEqual([cookie('one')]);
    await page.getByRole('button', { name: 'Delete work' }).click();
    await page.getByRole('group').getByRole('button', { name: 'Delete work' }).click();
    await see('ada has no profile');
  });
});

describe('policies', () => {
  beforeEach(() => open('/policies?user=grace'));
  const editor = () => page.getByLabel('Policy document (JSON)');

  it('begins with a preset, tests a call before it is saved, and saves', async () => {
    await page.getByRole('button', { name: 'https-only' }).click();
    await page.getByLabel('Arguments (JSON)').fill('{"url": "http://plain.example"}');
    await page.getByRole('button', { name: 'Test the call' }).click();
    await see('Blocked by tools[0]: Only encrypted connections are allowed');
    expect(await sessions.getPolicy({ userId: 'grace' })).toBeNull();
    await page.getByRole('button', { name: 'Save' }).click();
    await see('Saved. Running leases obey it within seconds.');
    expect((await sessions.getPolicy({ userId: 'grace' }))?.sites.httpsOnly).toBe(true);
  });

  it('is edited by a form that the schema makes, down to the conditions of a rule', async () => {
    const group = (name: string) => page.getByRole('group', { name, exact: true });
    await group('tools').getByRole('button', { name: 'Add to tools' }).click();
    const rule = group('tools 2'); // beside the preset's
    await rule.getByLabel('tools one a line').fill('browser_evaluate');
    await rule.getByLabel('action').selectOption('block_always');
    await rule.getByRole('button', { name: 'Add to when' }).click();
    await group('when 1').last().getByLabel('operator').selectOption('contains');
    await group('when 1').last().getByLabel('path').fill('function');
    await group('when 1').last().getByLabel('value').fill('document.cookie');
    await page.getByRole('button', { name: 'Save' }).click();
    await see('Saved. Running leases obey it within seconds.');
    expect((await sessions.getPolicy({ userId: 'grace' }))?.tools.at(-1)).toMatchObject({
      tools: ['browser_evaluate'],
      action: 'block_always',
      when: [{ path: 'function', operator: 'contains', value: 'document.cookie' }],
    });
    expect(await phoneFaults(page)).toEqual([]);
  });

  it('shows the path of an error and leaves the saved policy in force', async () => {
    await page.getByLabel('JSON', { exact: true }).check();
    await editor().fill('{"version": 1, "tools": [{"tools": [], "action": "allow"}]}');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('tools[0].tools').waitFor();
    expect((await sessions.getPolicy({ userId: 'grace' }))?.sites.httpsOnly).toBe(true);
  });
});

describe('kept pages', () => {
  it('[A14] the last page of a browser is kept after its lease has ended, and pictures of calls are in the timeline', async () => {
    const kept = await sessions.acquire({
      userId: 'hopper',
      conversationId: 'kept',
      keepPages: 'calls',
      recordVideo: false,
    });
    await using visitor = await connectMcpBrowser(kept);
    await visitor.call('browser_navigate', { url: site.url });
    await kept.end();
    await open(`/sessions/${kept.sessionId}`);
    const last = page.getByRole('figure');
    await last.getByText('The Demo Bakery').waitFor();
    const isShown = (picture: Locator) =>
      eventually('the picture', () =>
        picture.evaluate(each => (each as unknown as { naturalWidth: number }).naturalWidth > 0),
      );
    await isShown(last.getByAltText('The last page: The Demo Bakery'));
    await page.getByText('Picture', { exact: true }).click();
    await isShown(page.getByAltText('The page after the call'));
    expect(await accessibilityFaults(page)).toEqual([]);

    const href = await last.getByRole('link', { name: 'Download its HTML' }).getAttribute('href');
    const html = await ask(String(href), { cookie: await cookie() });
    expect(await html.text()).toContain('Fresh every morning');
    // Shown in the console's origin it could act as the person.
    expect(html.headers.get('content-disposition')).toContain('attachment');
    expect(html.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('every page', () => {
  const PAGES = () => [
    '/',
    `/sessions/${lease.sessionId}`,
    '/requests',
    '/credentials?user=ada',
    '/profiles?user=ada',
    '/policies',
    '/webhooks',
  ];

  it('passes axe and fits a phone, in light and dark', async () => {
    for (const path of PAGES()) {
      await open(path);
      await eventually('the page is loaded', async () => (await page.getByText(/^Loading/).count()) === 0);
      expect(await phoneFaults(page), path).toEqual([]);
    }
  });

  it('can be reached with the keyboard alone', async () => {
    await open('/');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await page.getByRole('link', { name: 'Policies' }).press('Enter');
    await page.getByRole('heading', { name: 'Policies' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  });

  it('runs no inline code, asks no other origin and has no error', () => {
    expect(console.faults).toEqual([]);
  });

  it('signs out: the cookie that was copied is worth nothing, and a place in a page is no link that signs in', async () => {
    await open('/');
    await page.getByRole('link', { name: 'Skip to the content' }).press('Enter');
    const copied = await cookie();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await see('npx --no-install omicron-browser console');
    expect(await page.getByRole('alert').count()).toBe(0);
    expect((await ask('/api/browser-sessions', { cookie: copied })).status).toBe(401);
  });
});
