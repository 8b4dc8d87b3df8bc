import { expect, it } from 'vitest';
import { loginOrigins } from '../../../runner/credentials/login-origins.ts';

const origins = (credentials: Record<string, string[]>, insecureOrigins: string[] = []) =>
  loginOrigins({
    sites: [],
    policy: () => ({ version: 'v1', layers: [{ layer: 'user', policy: { version: 1, credentials } }] }) as never,
    insecureOrigins,
  });

it.each([
  ['a key that nothing maps', { site: 'bakery', totp: false }, {}, false],
  ['a key with a url', { site: 'bakery', totp: false, targets: ['bakery.example'] }, {}, true],
  ['a key of the deployment’s map', { site: 'walmart', totp: false, known: ['walmart.com'] }, {}, true],
  ['a key that is a domain', { site: 'shop.example', totp: false }, {}, true],
  ['a key that a policy maps', { site: 'bakery', totp: false }, { bakery: ['bakery.example'] }, true],
  [
    'a key whose url and policy agree on no place',
    { site: 'bakery', totp: false, targets: ['a.example'] },
    { bakery: ['b.example'] },
    false,
  ],
])('tells the agent of credentials that are filled somewhere: %s', (_what, site, credentials, isTold) => {
  expect(origins(credentials).isFilledSomewhere(site)).toBe(isTold);
});

it('says why an origin without https is refused, and what would allow it', () => {
  const origin = 'http://127.0.0.1:3000';
  const site = { site: 'bakery', totp: false, targets: ['bakery.example'] };
  const stack = (insecure: string[]) =>
    loginOrigins({ sites: [site], policy: () => ({ version: 'v1', layers: [] }), insecureOrigins: insecure });
  expect(stack([]).siteFor(origin, undefined)).toMatchObject({
    code: 'origin_refused',
    reason: expect.stringContaining(`OMICRON_INSECURE_LOGIN_ORIGINS=${origin}`),
  });
  expect(stack([]).siteFor('http://shop.example', undefined)).toMatchObject({
    reason: expect.not.stringContaining('OMICRON_'),
  });
  expect(stack([origin]).siteFor(origin, 'bakery')).toMatchObject({
    code: 'origin_refused',
    reason: expect.stringContaining('has a place of its own'),
  });
});

it('fills by the deployment’s map only while no policy names the key', () => {
  const walmart = { site: 'walmart', totp: false, known: ['walmart.com'] };
  expect(origins({}).decide(walmart, 'https://www.walmart.com').allowed).toBe(true);
  expect(origins({ walmart: ['walmart.ca'] }).decide(walmart, 'https://www.walmart.com').allowed).toBe(false);
});
