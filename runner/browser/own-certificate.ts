import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';

/** A certificate of this process, by which its browser lets it speak for a site. */
export interface OwnCertificate {
  readonly context: SecureContext;
  /** Base64 SHA-256 of the public key, which Chromium is launched with. */
  readonly spki: string;
}

const ECDSA_WITH_SHA256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
const VALID_MS = 5 * 365 * 86_400_000;
const NOW_DIFFERS_MS = 86_400_000;

/**
 * Made when the runner starts; the key never leaves the process. Chromium trusts the key itself, for each host, so that a certificate of
 * version 1 without extensions is enough: <https://www.rfc-editor.org/rfc/rfc5280#section-4.1>.
 */
export function ownCertificate(): OwnCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicDer = publicKey.export({ type: 'spki', format: 'der' });
  const commonName = der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('omicron-runner')));
  const name = der(0x30, der(0x31, commonName));
  const now = Date.now();
  const validity = der(0x30, time(now - NOW_DIFFERS_MS), time(now + VALID_MS));
  const serial = der(0x02, Buffer.from([1]));
  const body = der(0x30, serial, ECDSA_WITH_SHA256, name, validity, name, publicDer);
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const lines = der(0x30, body, ECDSA_WITH_SHA256, signature)
    .toString('base64')
    .match(/.{1,64}/g);
  return {
    context: createSecureContext({
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: `-----BEGIN CERTIFICATE-----\n${lines?.join('\n')}\n-----END CERTIFICATE-----\n`,
    }),
    spki: createHash('sha256').update(publicDer).digest('base64'),
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

/** UTCTime, whose years end with 2049. */
const time = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
