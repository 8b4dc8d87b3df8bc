import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { expectNothingFilled, expectNothingTold, LOGIN_SECRETS, loginLeaseOfFile } from './login-lease.ts';

// The promise of the README, shown once. More of what gets no login: login-strangers.test.ts.

const { SHOP_TEST_USERNAME: USERNAME, SHOP_TEST_PASSWORD: PASSWORD } = LOGIN_SECRETS;

const { lease, at, call, goTo, login, posted } = loginLeaseOfFile();

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
    const found = lease().controller.events.filter(({ kind }) => kind === 'login');
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
  const questions = () => lease().controller.userActions.filter(({ credential }) => credential !== null);
  /** As the person answers. */
  const answer = (status: 'done' | 'declined') => {
    const question = questions().at(-1);
    if (question !== undefined) Object.assign(question, { status });
  };
  const BAKERY = { site: 'bakery' };

  test('is in no instructions, and its first fill asks the person, in words that no agent chose', async () => {
    expect(lease().client.getInstructions()).not.toContain('BAKERY');
    await goTo(at('www.bakery.test', '/login'));
    expect(await login()).toMatchObject({ success: false, status: 'person_asked' });
    expect(await login()).toMatchObject({ status: 'person_asked' });
    expect(questions()).toHaveLength(1);
    const host = `www.bakery.test:${lease().site.port}`;
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
    await goTo(`http://evil.test:${lease().network.site.port}/`);
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

test('another site gets neither a login nor a value for a name', () =>
  expectNothingFilled(lease(), at('evil.test', '/login')));

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

test('no value is in any result, event, log line, or request to another site', () =>
  expectNothingTold(lease(), { strangers: 3, seen: 60 }));
