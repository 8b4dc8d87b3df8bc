import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

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
  return sequence(der(0x06, Buffer.from('551d11', 'hex')), der(0x04, names));
}

/** CA:TRUE: https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.9 */
const IS_AUTHORITY = sequence(
  ...[der(0x06, Buffer.from('551d13', 'hex')), der(0x01, Buffer.from([0xff]))],
  der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
);
const DAY_MS = 86_400_000;

interface TestCertificateOptions {
  readonly address?: string;
  readonly issuer?: TestCertificate;
  /** May sign others. */
  readonly authority?: boolean;
  readonly expired?: boolean;
}

/**
 * RFC 5280, the least of it: version 1 and no extensions, or version 3 where it is for an IPv4 address too or an authority's. Self-signed
 * unless an issuer signs it. The key never leaves the process that made it.
 */
export function testCertificate(
  host = 'test',
  { address, issuer, authority = false, expired = false }: TestCertificateOptions = {},
): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicDer = publicKey.export({ type: 'spki', format: 'der' });
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const nameOf = (text: string) =>
    sequence(der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(text)))));
  const day = (ms: number) =>
    der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
  const untilMs = Date.now() + (expired ? -DAY_MS : DAY_MS);
  const validity = sequence(day(untilMs - 2 * DAY_MS), day(untilMs));
  const extensions = [
    ...(address === undefined ? [] : [alternativeNames(host, address)]),
    ...(authority ? [IS_AUTHORITY] : []),
  ];
  const serial = der(0x02, Buffer.from([1]), randomBytes(8));
  const body = sequence(
    ...(extensions.length === 0 ? [] : [der(0xa0, der(0x02, Buffer.from([2])))]),
    ...[serial, ecdsaWithSha256, nameOf(issuer?.host ?? host), validity, nameOf(host), publicDer],
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
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
