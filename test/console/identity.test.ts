import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Lease } from '../../client/lease.ts';
import { signInBy } from '../../console/identity.ts';
import { type Console, startConsole } from '../../console/server/console.ts';
import { parseConsoleSettings } from '../../console/settings.ts';
import { LIVE_CLOSE, LIVE_PROTOCOL } from '../../contract/live-limits.ts';
import { ENV } from '../../contract/names.ts';
import { freePort } from '../../local/free-port.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import { type FakeIdentityProvider, fakeIdentityProvider } from '../fakes/identity-provider.ts';
import { type OpenConsole, openConsole } from './open-console.ts';

let local: OpenConsole;
let provider: FakeIdentityProvider;
let served: Console;
let lease: Lease;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  local = await openConsole();
  provider = await fakeIdentityProvider();
  const { stack } = local;
  const url = `http://127.0.0.1:${await freePort()}`;
  const settings = parseConsoleSettings({
    [ENV.consoleUrl]: url,
    [ENV.controllerUrl]: stack.url,
    [ENV.serviceSecret]: stack.serviceSecret,
    [ENV.consoleOidcIssuer]: provider.url,
    [ENV.consoleOidcClientId]: provider.client.id,
    [ENV.consoleOidcClientSecret]: provider.client.secret,
    [ENV.consolePlatformIssuer]: provider.url,
    [ENV.consoleRoleClaim]: 'app_metadata.roles',
  });
  const { controllerUrl, serviceSecret } = settings;
  served = await startConsole({
    url,
    controllerUrl,
    serviceSecret,
    identity: signInBy(settings),
    log: pino({ level: 'silent' }),
  });
  lease = await local.sessions.acquire({ userId: 'ada', conversationId: 'bread' });
});
afterAll(async () => {
  await served?.stop();
  await provider?.[Symbol.asyncDispose]();
  await local?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  context = await local.browser.newContext();
  page = await context.newPage();
});
afterEach(() => context.close());

/** Someone with this role, as the provider describes them. */
const person = (sub: string, ...roles: string[]) => ({
  sub,
  email: `${sub}@example.com`,
  sid: `s-${sub}`,
  app_metadata: { roles },
});
async function signIn(sub: string, ...roles: string[]): Promise<void> {
  provider.person = person(sub, ...roles);
  await page.goto(served.url);
  await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
}
const sessionsHeading = () => page.getByRole('heading', { name: 'Sessions', exact: true });
/** The answer of the console's server to a request of the page. */
const ask = (path: string, method = 'GET', body?: unknown): Promise<number> =>
  page.evaluate(
    ([at, verb, content]) =>
      fetch(`/api${at}`, {
        method: verb as string,
        ...(content === undefined
          ? {}
          : { body: JSON.stringify(content), headers: { 'content-type': 'application/json' } }),
      }).then(({ status }) => status),
    [path, method, body] as const,
  );

describe('an OpenID Connect provider', () => {
  it('signs in by the code flow with PKCE; a code without the browser that began is worth nothing', async () => {
    let returned = '';
    page.on('request', request => {
      if (request.url().includes('/callback')) returned = request.url();
    });
    await signIn('root', 'omicron-admin');
    await sessionsHeading().waitFor();
    await page.getByRole('link', { name: 'bread' }).waitFor();
    await page.getByText('root@example.com').waitFor();
    const [cookie] = (await context.cookies()).filter(({ path }) => path === '/');
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });

    const thief = await fetch(returned, { redirect: 'manual' });
    expect(thief.headers.get('location')).toBe('/sign-in?refused=unauthorized');
    expect(thief.headers.getSetCookie().join()).not.toContain(cookie?.name);
  });

  it('shows the page that a person wanted before they signed in; no other site is one', async () => {
    provider.person = person('ada', 'omicron-viewer');
    const wanted = `${served.url}/sessions/${lease.sessionId}?from=request`;
    await page.goto(wanted);
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await page.getByText('The agent acts on the browser').waitFor();
    expect(page.url()).toBe(wanted);
    for (const to of [
      '//elsewhere.test/',
      'https://elsewhere.test',
      '/.//elsewhere.test',
      '\\\\elsewhere.test',
      'javascript:1',
    ]) {
      await page.goto(`${served.url}/api/sign-in/oidc?${new URLSearchParams({ to })}`);
      expect(new URL(page.url()).origin).toBe(served.url);
    }
  });

  it('does not take a person for another who has their e-mail address and name: not a polled view, nor control', async () => {
    await signIn('ada', 'omicron-admin');
    await sessionsHeading().waitFor();
    const open = () =>
      page.evaluate(async id => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`/api/browser-sessions/${id}/polled-views`, {
          method: 'POST',
          headers,
          body: '{"role":"control"}',
        });
        return ((await answer.json()) as { view: string }).view;
      }, lease.sessionId);
    const view = await open();
    const at = `/polled-views/${view}`;
    expect(await ask(`${at}?after=0&picture=-1`)).toBe(200);

    await context.clearCookies();
    provider.person = { ...person('mallory', 'omicron-admin'), email: 'ada@example.com' };
    await page.goto(served.url);
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await sessionsHeading().waitFor();
    expect(await ask(`${at}?after=0&picture=-1`)).toBe(409);
    expect(await ask(`${at}/picture`)).toBe(409);
    expect(await ask(`${at}/messages`, 'POST', { picture: 0, messages: [{ t: 'take' }] })).toBe(409);
    expect(await ask(at, 'DELETE')).toBe(409);
  });

  it('records who answered a request by issuer and subject, whatever a page says', async () => {
    await using agent = await connectMcpBrowser(lease);
    const answeredAs = async (sub: string) => {
      const asking = agent.call('browser_request_user_action', { reason: `Which loaf, ${sub}?`, timeout: 60 });
      const waiting = await eventually('it is asked', async () => {
        const actions = await local.sessions.listUserActions(lease.sessionId);
        return actions.find(({ status }) => status === 'pending');
      });
      await context.clearCookies();
      provider.person = { ...person(sub, 'omicron-admin'), email: 'ada@example.com' };
      await page.goto(served.url);
      await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
      await sessionsHeading().waitFor();
      const body = { status: 'done', viewer: 'another', viewer_id: 'another' };
      expect(await ask(`/browser-sessions/${lease.sessionId}/user-actions/${waiting.id}`, 'POST', body)).toBe(200);
      await asking;
      const actions = await local.sessions.listUserActions(lease.sessionId);
      return actions.find(({ id }) => id === waiting.id)?.answered_by;
    };
    const [ada, mallory] = [await answeredAs('ada'), await answeredAs('mallory')];
    for (const by of [ada, mallory])
      expect(by).toEqual({ viewer: 'ada@example.com', identity: expect.stringMatching(/^id (?!another)./) });
    expect(mallory?.identity).not.toBe(ada?.identity);
    const { events } = await local.sessions.listEvents(lease.sessionId, { limit: 200 });
    const told = events.filter(({ kind }) => kind === 'user_action.answered').map(({ data }) => data.identity);
    expect(told).toEqual([ada?.identity, mallory?.identity]);
  });

  it('a viewer sees their own sessions, and changes nothing', async () => {
    await signIn('ada', 'omicron-viewer');
    await page.getByRole('link', { name: 'bread' }).click();
    await page.getByText('The agent acts on the browser').waitFor();
    expect(await page.getByRole('button', { name: 'Take control' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'End the lease' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Policies' }).count()).toBe(0);
    expect(await ask(`/browser-sessions/${lease.sessionId}`, 'DELETE')).toBe(403);
    expect(await ask('/users/ada/credentials/shop', 'PUT', { username: 'a', password: 'b' })).toBe(403);
  });

  it("an operator has their own sessions and credentials; another user's do not exist, and policies and webhooks are not theirs", async () => {
    await signIn('grace', 'omicron-operator');
    await page.getByText('No sessions yet').waitFor();
    expect(await ask(`/browser-sessions/${lease.sessionId}`)).toBe(404);
    expect(await ask(`/browser-sessions/${lease.sessionId}`, 'DELETE')).toBe(404);
    expect(await ask('/users/ada/credentials')).toBe(403);
    expect(await ask('/users/ada/credentials/shop/test', 'POST', { url: 'https://shop.example' })).toBe(403);
    expect(await ask('/users/grace/policy', 'DELETE')).toBe(403);
    expect(await ask('/webhooks')).toBe(403);
    expect(await ask('/webhooks', 'POST', { url: 'https://mallory.example' })).toBe(403);
    expect(await ask('/users/grace/credentials/shop.example', 'PUT', { username: 'a', password: 'b' })).toBe(204);
    await page.getByRole('link', { name: 'Credentials' }).click();
    await page.getByText('SHOP_EXAMPLE_PASSWORD').waitFor(); // without a choice of the user
  });

  it('someone without a role learns so, and gets no sign-in', async () => {
    await signIn('mallory', 'another-role');
    await page.getByRole('alert').getByText('Your account has no role in this console').waitFor();
    expect(await ask('/me')).toBe(401);
  });

  it('a provider that does not answer is said in words, not as JSON', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const settings = parseConsoleSettings({
      ...{
        [ENV.consoleUrl]: url,
        [ENV.controllerUrl]: local.stack.url,
        [ENV.serviceSecret]: local.stack.serviceSecret,
      },
      ...{ [ENV.consoleOidcIssuer]: `http://127.0.0.1:${await freePort()}`, [ENV.consoleOidcClientId]: 'console' },
      [ENV.consoleOidcClientSecret]: 'secret',
    });
    const { controllerUrl, serviceSecret } = settings;
    const lonely = await startConsole({
      ...{ url, controllerUrl, serviceSecret, identity: signInBy(settings), log: pino({ level: 'silent' }) },
    });
    await page.goto(url);
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await page.getByRole('alert').getByText('The identity provider does not answer. Try again.').waitFor();
    await page.getByRole('link', { name: 'Sign in with your organisation' }).waitFor();
    await lonely.stop();
  });

  it('[N8] closes the live view of a person within a second when the provider signs them out', async () => {
    await signIn('ada', 'omicron-operator');
    await sessionsHeading().waitFor();
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const socket = new WebSocket(
      `${served.url.replace('http', 'ws')}/api/browser-sessions/${lease.sessionId}/live`,
      LIVE_PROTOCOL,
      { headers: { cookie, origin: served.url } },
    );
    await new Promise(resolve => socket.once('message', resolve));
    const closed = new Promise<number>(resolve => socket.once('close', resolve));
    const logout = (claims: object) =>
      provider
        .sign({ ...claims, events: { 'http://schemas.openid.net/event/backchannel-logout': {} } })
        .then(logout_token =>
          fetch(`${served.url}/api/sign-in/oidc/logout`, {
            method: 'POST',
            body: new URLSearchParams({ logout_token }),
          }),
        );
    expect((await logout({ aud: 'another-client', sub: 'ada' })).status).toBe(401);
    expect((await logout({ sub: 'ada', nonce: randomUUID() })).status).toBe(401); // an ID token is no logout token
    expect(await ask('/me')).toBe(200);
    expect((await logout({ sid: 's-ada' })).status).toBe(200);
    expect(await closed).toBe(LIVE_CLOSE.revoked);
    expect(await ask('/me')).toBe(401);
  });
});

describe("the platform's own tokens", () => {
  const token = (change = {}) =>
    provider.sign({ aud: 'authenticated', ...person('ada', 'omicron-operator'), ...change });
  const open = (accessToken: string) => page.goto(`${served.url}/sign-in#access_token=${accessToken}`);

  it('sign in with the role that they name, and leave the address bar', async () => {
    await open(await token());
    await page.getByRole('button', { name: 'Sign in as ada@example.com' }).click();
    await page.getByRole('link', { name: 'bread' }).waitFor();
    expect(page.url()).toBe(`${served.url}/`);
  });

  it('in a stranger’s link sign no one in before they confirm the named account, and a signed-in person stays signed in', async () => {
    await signIn('ada', 'omicron-operator');
    await sessionsHeading().waitFor();
    const me = () => page.evaluate(() => fetch('/api/me').then(answer => answer.json()));
    const strangers = await provider.sign({ aud: 'authenticated', ...person('mallory', 'omicron-operator') });
    await page.goto('about:blank');
    await open(strangers);
    await page.getByText('This link signs you in as mallory@example.com').waitFor();
    expect(page.url()).not.toContain(strangers);
    expect(await me()).toMatchObject({ name: 'ada@example.com' });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Open the console from the application').waitFor();
    expect(await me()).toMatchObject({ name: 'ada@example.com' });
  });

  it.each([
    ['for another audience', { aud: 'another' }],
    ['of another issuer', { iss: 'https://another.example' }],
    ['that has expired', { exp: 1 }],
  ])('are refused: one %s', async (_what, change) => {
    await open(await token(change));
    await page.getByRole('alert').getByText('sign in there again').waitFor();
  });
});

// Last, since all that is here is one peer.
describe('a flood of begun sign-ins', () => {
  it('keeps a begun sign-in however many others begin, and refuses a flood from one peer', async () => {
    provider.person = person('ada', 'omicron-viewer');
    const ask = (url: string, cookie = '') => fetch(url, { redirect: 'manual', headers: { cookie } });
    const begin = () => ask(`${served.url}/api/sign-in/oidc?to=/requests`);
    const begun = await begin();
    const [cookie = ''] = begun.headers.getSetCookie().map(each => each.split(';')[0] ?? '');

    const statuses: number[] = [];
    for (let i = 0; i < 200; i++)
      for (const { status } of await Promise.all(Array.from({ length: 8 }, begin))) statuses.push(status);
    expect(statuses).toContain(429);

    const back = await ask(begun.headers.get('location') ?? '');
    const callback = back.headers.get('location') ?? '';
    const forged = `${cookie.slice(0, -9)}AAAAAAAAA`;
    expect((await ask(callback, forged)).headers.get('location')).toBe('/sign-in?refused=unauthorized');
    expect((await ask(callback, cookie)).headers.get('location')).toBe(`${served.url}/requests`);
  });
});
