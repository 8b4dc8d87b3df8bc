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

it('fills by the deployment’s map only while no policy names the key', () => {
  const walmart = { site: 'walmart', totp: false, known: ['walmart.com'] };
  expect(origins({}).decide(walmart, 'https://www.walmart.com').allowed).toBe(true);
  expect(origins({ walmart: ['walmart.ca'] }).decide(walmart, 'https://www.walmart.com').allowed).toBe(false);
});
