import { expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { runnerSettings } from '../../runner/settings.ts';
import { testCertificate } from '../site/certificate.ts';

const { spki } = testCertificate();

test.each([
  [ENV.toolset, 'everything', 'must be one of playwright, core, compat, both'],
  [ENV.snapshot, 'some', 'must be one of changes, full, none, playwright'],
  [ENV.keepPages, 'all', 'must be one of none, last, calls'],
  [ENV.answerTokens, '100', 'must be'],
  [ENV.insecureLoginOrigins, 'http://127.0.0.1:80/', 'is no origin'],
  [ENV.insecureLoginOrigins, 'http://127.0.0.1:8080,*', '"*" is no origin'],
  [ENV.insecureLoginOrigins, 'http://user@127.0.0.1:8080', 'is no origin'],
  [ENV.chromiumCa, '/etc/ca.pem', 'must be certificates in PEM'],
  [ENV.chromiumCa, testCertificate().cert, 'CN=test is none (no CA:TRUE)'],
  [ENV.chromiumCa, testCertificate().key, 'must not hold a private key'],
  [ENV.chromiumSpki, 'sha256/abc', 'must be base64 SHA-256 digests'],
  [ENV.chromiumSpki, `${spki},${spki} --no-sandbox`, 'must be base64 SHA-256 digests'],
])('%s=%s is refused in one line that names it', (name, value, why) => {
  const rest = { [ENV.runnerId]: crypto.randomUUID(), [ENV.controllerUrl]: 'http://c', [ENV.outputDir]: '/o' };
  const jwks = JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'k', x: spki }] });
  const env = { ...rest, [ENV.controllerJwks]: jwks };
  expect(() => runnerSettings({ ...env, [name]: value })).toThrow(`${name} is wrong: `);
  expect(() => runnerSettings({ ...env, [name]: value })).toThrow(why);
  expect(runnerSettings(env)).toMatchObject({
    toolset: 'playwright',
    snapshot: 'changes',
    keepPages: 'none',
    tokensMax: 4_000,
    insecureLoginOrigins: [],
    chromiumSpki: undefined,
  });
});
