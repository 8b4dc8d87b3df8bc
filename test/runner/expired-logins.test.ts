import { expect, it } from 'vitest';
import { expiredLogins } from '../../runner/profile/expired-logins.ts';

const NOW_MS = 2_000_000;
const cookie = (domain: string, expires: number, httpOnly = true) => ({
  ...{ name: `c${expires}`, value: '', path: '/', secure: true, sameSite: 'Lax' as const },
  ...{ domain, expires, httpOnly },
});

it('names the domains whose login cookies have all expired', () => {
  const cookies = [
    ...[cookie('.old.example', 1_999), cookie('old.example', 1_000)],
    ...[cookie('fresh.example', 1_999), cookie('.fresh.example', 2_001)],
    ...[cookie('open.example', 1_999), cookie('open.example', -1)], // until the browser ends
    cookie('banner.example', 1_999, false), // no login
  ];
  expect(expiredLogins({ cookies }, NOW_MS)).toEqual(['old.example']);
});
