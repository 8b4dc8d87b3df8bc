import { expect, it } from 'vitest';
import { registrableDomain } from '../../../contract/policy/credential-target.ts';
import { credentialTargets, decideCredential } from '../../../contract/policy/credentials.ts';
import { knownSites, WELL_KNOWN_SITES } from '../../../contract/policy/well-known-sites.ts';

const policy = (targets: string[]) => [{ layer: 'user' as const, credentials: { walmart: targets } }];
const known = knownSites({ intranet: ['https://portal.example.com'], Target: ['shop.example'] }, true);

it('names some sixty sites, each by registrable domains', () => {
  expect(Object.keys(WELL_KNOWN_SITES).length).toBeGreaterThanOrEqual(60);
  const wrong = Object.values(WELL_KNOWN_SITES)
    .flat()
    .filter(domain => registrableDomain(domain) !== domain);
  expect(wrong).toEqual([]);
  expect(Object.keys(WELL_KNOWN_SITES)).toEqual(Object.keys(WELL_KNOWN_SITES).toSorted());
});

it('fills the credential of a well-known key on its own site, and nowhere else', () => {
  const at = (origin: string) => decideCredential([], 'walmart', origin, undefined, known('walmart')).allowed;
  expect(at('https://www.walmart.com')).toBe(true);
  expect(at('https://walmart.com.evil.example')).toBe(false);
  expect(at('http://www.walmart.com')).toBe(false);
  expect(credentialTargets([], 'Walmart', undefined, known('Walmart'))).toEqual({
    targets: ['walmart.com'],
    reason: null,
  });
});

it('gives way to a url of its own, to a policy, and to the deployment’s own map', () => {
  expect(credentialTargets([], 'walmart', ['walmart.ca'], known('walmart')).targets).toEqual(['walmart.ca']);
  expect(credentialTargets(policy(['walmart.ca']), 'walmart', undefined, known('walmart')).targets).toEqual([
    'walmart.ca',
  ]);
  expect(
    decideCredential(policy(['walmart.ca']), 'walmart', 'https://walmart.com', undefined, known('walmart')).allowed,
  ).toBe(false);
  expect([known('target'), known('intranet')]).toEqual([['shop.example'], ['https://portal.example.com']]);
});

it('knows no site of an unmapped key, and names the command that maps it', () => {
  expect(knownSites({}, false)('walmart')).toBeUndefined();
  expect(credentialTargets([], 'bakery', undefined, known('bakery')).reason).toContain(
    'omicron-browser credentials set bakery --url DOMAIN',
  );
});
