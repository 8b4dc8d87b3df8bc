import { expect, test } from 'vitest';
import { httpLogins } from '../../../../runner/calls/notes/http-logins.ts';
import { documentOf, fakeTabs } from '../fake-tabs.ts';

const URL = 'https://intranet.test/admin?page=1';

function asked(names?: readonly [string, string]) {
  const tabs = fakeTabs();
  const logins = httpLogins(tabs.context, () => names);
  const asks = (status: number, challenge: string) =>
    tabs.emit('response', documentOf(tabs, URL, status, { 'www-authenticate': challenge }).response);
  return { logins, asks };
}

test('a site that asks by HTTP has one note, with its realm and the address that opens it', () => {
  const { logins, asks } = asked();
  asks(401, 'Basic realm="Staff only"');
  asks(401, 'Basic realm="Staff only"');
  const [note, ...more] = logins.take();
  expect(note).toContain('by HTTP (Basic, realm "Staff only")');
  expect(note).toContain('https://NAME:PASSWORD@intranet.test/admin');
  expect(note).toContain('browser_request_user_action');
  expect([more, logins.take()]).toEqual([[], []]);
});

test('the names of a stored credential that may be used open the address', () => {
  const { logins, asks } = asked(['intranet_username', 'intranet_password']);
  asks(401, 'Basic');
  expect(logins.take()[0]).toContain(
    'browser_navigate to https://intranet_username:intranet_password@intranet.test/admin.',
  );
});

test('a page that is forbidden asks for nothing', () => {
  const { logins, asks } = asked();
  asks(403, 'Basic');
  expect(logins.take()).toEqual([]);
});
