import { expect, test } from 'vitest';
import { expectNothingFilled, expectNothingTold, LOGIN_SECRETS, loginLeaseOfFile } from './login-lease.ts';

// Pages that get no login, or a step of it that is left to a person; the promise itself: login.test.ts.

const { lease, at, call, goTo, login, posted } = loginLeaseOfFile();

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
  ['a look-alike', () => at('sh0p.test', '/login')],
  ['a host that starts like it', () => at('shop.test.evil.test', '/login')],
  ['a user name that looks like it', () => at('shop.test@evil.test', '/login')],
  ['the site without https', () => `http://site.test:${lease().network.site.port}/fields`],
  ['a page without an origin', () => 'data:text/html,<input id=u><input id=p type=password><button>In</button>'],
])('%s gets neither a login nor a value for a name', (_what, url) => expectNothingFilled(lease(), url()));

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
  expect(posted('/welcome')?.form.get('password')).toBe(LOGIN_SECRETS.SHOP_TEST_PASSWORD);
});

test('no value is in any result, event, log line, or request to another site', () =>
  expectNothingTold(lease(), { strangers: 5, seen: 40 }));
