import { expect, it } from 'vitest';
import { readAuthorities } from '../../../contract/authorities.ts';
import { createTrustStore, trustStoreProblem } from '../../../runner/browser/trust-store.ts';
import { testCertificate } from '../../site/certificate.ts';

it('fails the start of a browser where certutil is missing, with the names of its packages', async () => {
  const authorities = readAuthorities(testCertificate('people', { authority: true }).cert);
  const store = createTrustStore(authorities, '/nonexistent/authorities', '/nonexistent');
  await expect(store.putInto('/nonexistent/home')).rejects.toMatchObject({
    code: 'runner_start_failed',
    message: expect.stringMatching(/certutil.*install libnss3-tools \(Debian, Ubuntu\) or nss-tools/),
  });
});

it('says on another system that its own authorities are the way', () => {
  expect(trustStoreProblem('/usr/bin', 'darwin')).toMatch(
    /on Linux.*add the authority to the trusted ones of the system/,
  );
});
