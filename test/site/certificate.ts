import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** A certificate, and what makes a browser trust it. */
export interface TestCertificate {
  /** Its name, which an issuer puts into what it signs. */
  readonly host: string;
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

/** Subject alternative names: https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.6 */
function alternativeNames(host: string, address: string): Buffer {
  const names = sequence(der(0x82, Buffer.from(host)), der(0x87, Buffer.from(address.split('.').map(Number))));
  const extension = sequence(der(0x06, Buffer.from('551d11', 'hex')), der(0x04, names));
  return der(0xa3, sequence(extension));
}

/**
 * RFC 5280, the least of it: version 1 and no extensions, or version 3 where it is for an IPv4 address too. Self-signed unless an
 * issuer signs it. The key never leaves the process that made it.
 */
export function testCertificate(
  host = 'test',
  { address, issuer }: { address?: string; issuer?: TestCertificate } = {},
): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicDer = publicKey.export({ type: 'spki', format: 'der' });
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const nameOf = (text: string) =>
    sequence(der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(text)))));
  const day = (ms: number) =>
    der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
  const validity = sequence(day(Date.now() - 86_400_000), day(Date.now() + 86_400_000));
  const body = sequence(
    ...(address === undefined ? [] : [der(0xa0, der(0x02, Buffer.from([2])))]),
    ...[der(0x02, Buffer.from([1])), ecdsaWithSha256, nameOf(issuer?.host ?? host), validity, nameOf(host), publicDer],
    ...(address === undefined ? [] : [alternativeNames(host, address)]),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, issuer?.key ?? privateKey));
  const pem = sequence(body, ecdsaWithSha256, signature)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n'); // no empty line at the end: OpenSSL takes it for a header's
  return {
    host,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
    spki: createHash('sha256').update(publicDer).digest('base64'),
  };
}
