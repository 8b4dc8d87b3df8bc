import { X509Certificate } from 'node:crypto';

/** A certificate authority that browsers trust beside their own roots. */
export interface Authority {
  readonly pem: string;
  /** Its subject. */
  readonly name: string;
  readonly validToMs: number;
}

const BEGIN = /-----BEGIN [^-]*-----/g;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const PRIVATE_KEY = /-----BEGIN [^-]*PRIVATE KEY-----/;

/**
 * Reads the certificates of authorities from PEM; text between them is passed over. Throws an Error whose message says what to do, after
 * the name of a setting, and never holds a part of the PEM.
 */
export function readAuthorities(text: string): readonly Authority[] {
  if (PRIVATE_KEY.test(text))
    throw new Error(
      'must not hold a private key: give the certificate alone (openssl x509 -in FILE), and keep the key',
    );
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error('must be certificates in PEM (the text of the file, not its path)');
  if (blocks.length !== text.match(BEGIN)?.length)
    throw new Error('must be whole certificates in PEM, and nothing else in PEM: one block is cut or another thing');
  const authorities = new Map<string, Authority>();
  for (const [index, pem] of blocks.entries()) {
    const { fingerprint256, authority } = readAuthority(pem, index + 1);
    authorities.set(fingerprint256, authority);
  }
  return [...authorities.values()];
}

function readAuthority(pem: string, number: number): { fingerprint256: string; authority: Authority } {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    throw new Error(`must be certificates in PEM: number ${number} cannot be read; export it anew`);
  }
  const name = certificate.subject?.replaceAll('\n', ', ') ?? `number ${number}`; // undefined where it has no subject
  if (!certificate.ca)
    throw new Error(`must be certificates of authorities: ${name} is none (no CA:TRUE); give that of who signed it`);
  return {
    fingerprint256: certificate.fingerprint256,
    authority: { pem, name, validToMs: Date.parse(certificate.validTo) },
  };
}

/** Why authorities may not be put to use; undefined: all of them are valid still. */
export function expiredFault(authorities: readonly Authority[], nowMs: number): string | undefined {
  const expired = authorities.filter(({ validToMs }) => validToMs < nowMs);
  if (expired.length === 0) return undefined;
  const named = expired.map(
    ({ name, validToMs }) => `${name} expired on ${new Date(validToMs).toISOString().slice(0, 10)}`,
  );
  return `${named.join('; ')}: put its successor in its place, or remove it`;
}
