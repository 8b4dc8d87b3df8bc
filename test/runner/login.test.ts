import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { LOGIN_SECRETS, type LoginLease, startLoginLease } from './login-lease.ts';
import { leaksOf } from './secrecy/leaks.ts';

const { SHOP_TEST_USERNAME: USERNAME, SHOP_TEST_PASSWORD: PASSWORD, BANK_PASSWORD } = LOGIN_SECRETS;

let lease: LoginLease;
beforeAll(async () => {
  lease = await startLoginLease();
}, 60_000);
afterAll(() => lease?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await call('browser_close');
});

const at = (host: string, path: string) => lease.at(host, path);
const call = (name: string, args?: Record<string, unknown>) => lease.call(name, args);
const goTo = (url: string) => lease.goTo(url);
const login = async (args: object = {}) => {
  const { text } = await call('browser_login', {
    usernameSelector: '#u',
    passwordSelector: '#p',
    submitSelector: 'button',
    ...args,
  });
  return JSON.parse(text);
};
const posted = (path: string) =>
  lease.site.arrived.filter(({ url, all }) => url === path && all.startsWith('POST')).at(-1);

test("[A8] a login finds the credential by the page's own domain, and answers nothing but how it went", async () => {
  await goTo(at('shop.test', '/login'));
  expect(await login()).toEqual({ success: true, status: 'ok', domain: 'shop.test', message: expect.any(String) });
  expect(Object.fromEntries(posted('/welcome')?.form ?? [])).toMatchObject({ username: USERNAME, password: PASSWORD });
  // A subdomain is of the same registrable domain; Enter sends the form; names with underscores do as well.
  await goTo(at('accounts.shop.test', '/login'));
  const { text } = await call('browser_login', { username_selector: '#u', password_selector: '#p' });
  expect(JSON.parse(text).status).toBe('ok');
  // A key of the vault that is no domain is good where the policy says.
  await goTo(at('bank.test', '/login'));
  expect(await login()).toMatchObject({ status: 'ok', domain: 'bank.test' });
  expect(posted('/welcome')?.form.get('password')).toBe('banker-4711-secret');
  const logins = await eventually('the events', () => {
    const found = lease.controller.events.filter(({ kind }) => kind === 'login');
    return found.length >= 3 ? found : undefined;
  });
  expect(logins.map(({ data }) => data)).toEqual([
    { domain: 'shop.test', status: 'ok' },
    { domain: 'shop.test', status: 'ok' },
    { domain: 'bank.test', status: 'ok' },
  ]);
});

test('a credential that was stored with its url is good there, without a policy, and nowhere else', async () => {
  await goTo(at('grocer.test', '/login'));
  expect(await login()).toMatchObject({ status: 'ok', domain: 'grocer.test' });
  expect(posted('/welcome')?.form.get('password')).toBe('grocer-4711-secret');
  await goTo(at('evil.test', '/login'));
  expect(await login({ site: 'walmart' })).toMatchObject({ status: 'origin_refused' });
});

describe('a credential of which nothing says where it may be used', () => {
  const questions = () => lease.controller.userActions.filter(({ credential }) => credential !== null);
  /** As the person answers. */
  const answer = (status: 'done' | 'declined') => {
    const question = questions().at(-1);
    if (question !== undefined) Object.assign(question, { status });
  };
  const BAKERY = { site: 'bakery' };

  test('is in no instructions, and its first fill asks the person, in words that no agent chose', async () => {
    expect(lease.client.getInstructions()).not.toContain('BAKERY');
    await goTo(at('www.bakery.test', '/login'));
    expect(await login()).toMatchObject({ success: false, status: 'person_asked' });
    expect(await login()).toMatchObject({ status: 'person_asked' });
    expect(questions()).toHaveLength(1);
    const host = `www.bakery.test:${lease.site.port}`;
    expect(questions()).toMatchObject([
      { reason: `Use the password of bakery at ${host}?`, credential: { ...BAKERY, host } },
    ]);
    expect(posted('/welcome')?.form.get('password')).not.toBe('baker-4711-secret');
  });

  test('is filled there once the person allows it, by every tool, and elsewhere they are asked again', async () => {
    await goTo(at('www.bakery.test', '/login'));
    await login();
    answer('done');
    expect(await login()).toMatchObject({ success: true, status: 'ok' });
    expect(posted('/welcome')?.form.get('password')).toBe('baker-4711-secret');
    await goTo(at('www.bakery.test', '/login'));
    const typed = await call('browser_type', { target: '#p', text: 'BAKERY_PASSWORD' });
    expect([typed.failed, typed.text]).toEqual([false, expect.stringContaining('was filled in')]);
    expect(questions()).toHaveLength(1);

    await goTo(at('florist.test', '/login'));
    const other = await call('browser_type', { target: '#p', text: 'BAKERY_PASSWORD' });
    expect(other.text).toContain('person_asked');
    answer('declined');
    const refused = await call('browser_fill_and_submit', {
      fields: [{ selector: '#p', value: 'BAKERY_PASSWORD' }],
    });
    expect(refused.text).toContain('origin_refused');
    expect(refused.text).toContain('the person declined');
    expect(await login(BAKERY)).toMatchObject({ status: 'origin_refused' });
    expect(questions()).toHaveLength(2);
  });

  test('is asked about by no page of another name unless the agent names it, and never over http', async () => {
    await goTo(at('evil.test', '/login'));
    expect(await login()).toMatchObject({ status: 'no_credential' });
    await goTo(`http://evil.test:${lease.network.site.port}/`);
    const { text } = await call('browser_type', { target: 'body', text: 'BAKERY_PASSWORD' });
    expect(text).toContain('origin_refused');
    expect(questions()).toHaveLength(2);
  });
});

test('[B3] the code of the moment is filled in, on the page of the password or the one that follows', async () => {
  await goTo(at('shop.test', '/login-with-code'));
  expect(await login({ totpSelector: '#c' })).toMatchObject({ status: 'ok' });
  expect(posted('/welcome')?.form.get('code')).toBe('492837');
  await goTo(at('bank.test', '/login-with-code'));
  expect(await login({ totpSelector: '#c' })).toMatchObject({ status: 'no_totp' });
});

test('reports a step that only a person can take', async () => {
  for (const path of ['/login-with-code', '/login-with-captcha']) {
    await goTo(at('shop.test', path));
    expect(await login()).toMatchObject({
      status: 'captcha_or_mfa',
      message: expect.stringContaining('browser_request_user_action'),
    });
  }
  await goTo(at('shop.test', '/login-refusing'));
  expect(await login()).toMatchObject({ status: 'login_form_still_shown' });
});

test('a field that is missing, hidden or would show the password gets nothing', async () => {
  await goTo(at('shop.test', '/login'));
  expect(await login({ usernameSelector: '#nobody' })).toMatchObject({ status: 'field_not_found' });
  expect(await login({ passwordSelector: '#hidden' })).toMatchObject({ status: 'field_refused' });
  expect(await login({ passwordSelector: '#shown' })).toMatchObject({ status: 'field_refused' });
  expect((await call('browser_type', { target: '#shown', text: 'SHOP_TEST_PASSWORD' })).text).toContain(
    'field_refused',
  );
  expect(await login({ domain: 'evil.test' })).toMatchObject({ status: 'origin_refused' });
  expect(posted('/welcome')?.form.get('password')).not.toBe('');
});

test.each([
  ['another site', () => at('evil.test', '/login')],
  ['a look-alike', () => at('sh0p.test', '/login')],
  ['a host that starts like it', () => at('shop.test.evil.test', '/login')],
  ['a user name that looks like it', () => at('shop.test@evil.test', '/login')],
  ['the site without https', () => `http://site.test:${lease.network.site.port}/fields`],
  ['a page without an origin', () => 'data:text/html,<input id=u><input id=p type=password><button>In</button>'],
])('%s gets neither a login nor a value for a name', async (_what, url) => {
  await goTo(url());
  expect((await login()).status).toMatch(/^(no_credential|origin_refused)$/);
  expect(['no_credential', 'origin_refused']).toContain((await login({ site: 'shop.test' })).status);
  for (const [target, text] of [
    ['#u', 'SHOP_TEST_USERNAME'],
    ['#p', 'SHOP_TEST_PASSWORD'],
    ['#u', 'SHOP_TEST_TOTP'],
  ] as const) {
    expect((await call('browser_type', { target, text })).text).toContain('origin_refused');
    const fields = [{ target, name: 'x', type: 'textbox', value: text }];
    expect((await call('browser_fill_form', { fields })).text).toContain('origin_refused');
    expect((await call('browser_fill_and_submit', { fields: [{ selector: target, value: text }] })).text).toContain(
      'origin_refused',
    );
  }
});

test('a frame of a stranger, or the site in a frame of a stranger, gets nothing', async () => {
  const inFrame = (id: string) => `frameLocator('iframe').locator('${id}')`;
  for (const url of [
    at('shop.test', `/framing?from=${encodeURIComponent(at('evil.test', '/grabbing'))}`),
    at('evil.test', `/framing?from=${encodeURIComponent(at('shop.test', '/login'))}`),
  ]) {
    await goTo(url);
    const { status } = await login({ usernameSelector: inFrame('#u'), passwordSelector: inFrame('#p') });
    expect(['origin_refused', 'no_credential']).toContain(status);
    expect((await call('browser_type', { target: inFrame('#p'), text: 'SHOP_TEST_PASSWORD' })).text).toContain(
      'origin_refused',
    );
  }
  // In a frame of its own site it is filled in.
  await goTo(at('shop.test', `/framing?from=${encodeURIComponent(at('accounts.shop.test', '/login'))}`));
  expect((await call('browser_type', { target: inFrame('#p'), text: 'SHOP_TEST_PASSWORD' })).failed).toBe(false);
});

test('a page that leaves, or moves the focus to a stranger, while it is filled gives nothing away', async () => {
  await goTo(at('shop.test', `/leaving?from=${encodeURIComponent(at('evil.test', '/grabbing'))}`));
  const { status } = await login();
  expect(['page_changed', 'origin_refused', 'field_not_found']).toContain(status);
  await goTo(at('shop.test', `/framing?from=${encodeURIComponent(at('evil.test', '/grabbing'))}`));
  expect(await login()).toMatchObject({ status: 'ok' });
  expect(posted('/welcome')?.form.get('password')).toBe(PASSWORD);
});

test('a value that a page repeats, in any spelling, is in no result', async () => {
  await goTo(at('shop.test', '/reflecting'));
  for (const [target, text] of [
    ['#u', 'SHOP_TEST_USERNAME'],
    ['#p', 'SHOP_TEST_PASSWORD'],
  ] as const) {
    await call('browser_type', { target, text });
    for (const format of ['text', 'html', 'accessibility', 'links']) await call('browser_get_content', { format });
    for (const name of ['browser_snapshot', 'browser_console_messages', 'browser_network_requests'])
      await call(name, { level: 'error' });
    await call('browser_tabs', { action: 'list' });
    await call('browser_find', { text: 'typed' });
  }
  expect((await call('browser_evaluate', { function: '() => btoa(p.value)' })).text).toContain('secret_on_page');
  expect(
    (await call('browser_evaluate', { target: '#p', function: 'p => [...p.value].map(c => c.charCodeAt(0))' })).text,
  ).toContain('secret_on_page');
  for (const [name, args] of [
    ['browser_find', { regex: 'textbox: c' }],
    ['browser_press_key', { key: 'Control+c' }],
  ] as const)
    expect((await call(name, { ...args })).text).toContain('secret_on_page');
  // A form that is cleared may still have it elsewhere; one that was loaded again no longer has it.
  await call('browser_type', { target: '#p', text: '' });
  const script = { function: '() => p.value.length' };
  expect((await call('browser_evaluate', script)).text).toContain('secret_on_page');
  await goTo(at('shop.test', '/login'));
  expect((await call('browser_evaluate', script)).text).toContain('### Result\n0');
});

test('no value is in any result, event, log line, or request to another site', async () => {
  await goTo(at('evil.test', '/last'));
  await eventually('the last events', () =>
    lease.controller.events.find(({ data }) => JSON.stringify(data).includes('/last')),
  );
  const strangers = lease.site.arrived.filter(({ host }) => /evil|sh0p/.test(host));
  expect(strangers.length).toBeGreaterThan(5);
  const texts = [
    ...lease.seen,
    JSON.stringify(lease.controller.events),
    lease.runner.output(),
    ...strangers.map(({ all }) => all),
  ];
  for (const value of [USERNAME, PASSWORD, BANK_PASSWORD])
    for (const text of texts) expect(leaksOf(text, value), text.slice(0, 300)).toEqual([]);
  for (const text of texts) expect(text).not.toContain('492837');
  expect(lease.seen.length).toBeGreaterThan(100);
});
