import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** A self-signed certificate, and what a browser must be told to trust it. */
export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
  /** Base64 SHA-256 of the public key. */
  readonly spki: string;
}

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length: bytes } = body;
  const length = bytes < 128 ? [bytes] : bytes < 256 ? [0x81, bytes] : [0x82, bytes >> 8, bytes & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);

/** RFC 5280, the least of it: version 1, no extensions. The key never leaves the process that made it. */
export function testCertificate(host = 'test'): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicDer = publicKey.export({ type: 'spki', format: 'der' });
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const commonName = sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(host)));
  const name = sequence(der(0x31, commonName));
  const day = (ms: number) =>
    der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
  const validity = sequence(day(Date.now() - 86_400_000), day(Date.now() + 86_400_000));
  const body = sequence(der(0x02, Buffer.from([1])), ecdsaWithSha256, name, validity, name, publicDer);
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const pem = sequence(body, ecdsaWithSha256, signature).toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
    spki: createHash('sha256').update(publicDer).digest('base64'),
  };
}
