import { expect, it } from 'vitest';
import { expiredFault, readAuthorities } from '../../contract/authorities.ts';
import { testCertificate } from '../site/certificate.ts';

const AUTHORITY = testCertificate('people', { authority: true });
const OTHER = testCertificate('other people', { authority: true });

it('reads each authority once, with the text that tools write between them', () => {
  const text = `Certificate:\n  Data:\n${AUTHORITY.cert}\nsubject=CN = other\r\n${OTHER.cert}${AUTHORITY.cert}`;
  expect(readAuthorities(text).map(({ name }) => name)).toEqual(['CN=people', 'CN=other people']);
});

it.each([
  ['a path', '/etc/ssl/ca.pem', /the text of the file, not its path/],
  ['a private key', AUTHORITY.cert + AUTHORITY.key, /must not hold a private key.*keep the key/],
  ['an encrypted key', `${AUTHORITY.cert}-----BEGIN ENCRYPTED PRIVATE KEY-----`, /must not hold a private key/],
  [
    'a public key',
    `${AUTHORITY.cert}-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----`,
    /nothing else in PEM/,
  ],
  ['a certificate that is cut', `${AUTHORITY.cert}${OTHER.cert.slice(0, 200)}`, /one block is cut/],
  ['a certificate that is none', AUTHORITY.cert.replace(/\n[^-].{20}/, '\n'), /number 1 cannot be read/],
  ['a leaf', testCertificate('a.test', { issuer: AUTHORITY }).cert, /CN=a.test is none.*give that of who signed it/],
])('refuses %s, with what to do and without its text', (_, text, why) => {
  let message = '';
  try {
    readAuthorities(text);
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(message).toMatch(why);
  for (const line of text.split('\n').filter(each => /^[A-Za-z0-9+/=]{20,}$/.test(each)))
    expect(message).not.toContain(line);
});

it('names those that have expired', () => {
  const former = testCertificate('former people', { authority: true, expired: true });
  const authorities = readAuthorities(AUTHORITY.cert + former.cert);
  expect(expiredFault(authorities, Date.now())).toMatch(
    /^CN=former people expired on 20\d\d-\d\d-\d\d: put its successor/,
  );
  expect(expiredFault(readAuthorities(AUTHORITY.cert), Date.now())).toBeUndefined();
});
