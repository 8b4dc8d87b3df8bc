import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Bundle } from '@sigstore/bundle';
import type { TrustedRoot } from '@sigstore/protobuf-specs';
import { toSignedEntity, toTrustMaterial, VerificationError, Verifier } from '@sigstore/verify';
import { UsageError } from '../exit.ts';
import { ReleaseFault } from './release-fault.ts';

/** The one who must have signed a bundle. Throws why it was another, or that it was changed. */
export type Publisher = (bundle: Bundle) => void;

/** The name of a key in bundles, as cosign writes it. */
export const keyHint = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64');

export function readPublicKey(pem: string, name: string): KeyObject {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ec') return key;
  } catch {
    // said below
  }
  throw new UsageError(`--key ${name} is no public key in PEM: name the publisher's EC key, such as cosign.pub`);
}

/** The holder of a key. */
export function keyPublisher(key: KeyObject): Publisher {
  const trust = {
    certificateAuthorities: [],
    timestampAuthorities: [],
    tlogs: [],
    ctlogs: [],
    publicKey: () => ({ publicKey: key, validFor: () => true }),
  };
  const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  return bundle => {
    const material = bundle.verificationMaterial.content;
    const hint = material.$case === 'publicKey' ? material.publicKey.hint : '';
    if (hint !== keyHint(key))
      throw new ReleaseFault(`it is signed by another key (${hint || 'a certificate'})`, 'signer');
    try {
      verifier.verify(toSignedEntity(bundle));
    } catch {
      throw new ReleaseFault(CHANGED, 'changed');
    }
  };
}

/** An identity that an authority of Sigstore's kind certified, as cosign's `--certificate-identity` and `--certificate-oidc-issuer`. */
export interface CertifiedIdentity {
  /** The name in the certificate, or a pattern between `^` and `$`. */
  readonly name: string | RegExp;
  /** Issuer of the token by which the signer was known. */
  readonly issuer: string;
}

/**
 * The holder of an identity at the time of the signature, which a log or a timestamp authority of the root proves. A log is asked for where
 * the root names one.
 */
export function identityPublisher({ name, issuer }: CertifiedIdentity, root: TrustedRoot): Publisher {
  const hasLogs = root.tlogs.length > 0;
  const verifier = new Verifier(toTrustMaterial(root), {
    tlogThreshold: hasLogs ? 1 : 0,
    ctlogThreshold: root.ctlogs.length > 0 ? 1 : 0,
    timestampThreshold: 1,
  });
  return bundle => {
    const { content, tlogEntries, timestampVerificationData } = bundle.verificationMaterial;
    if (content.$case === 'publicKey')
      throw new ReleaseFault('it is signed by a key and not by an identity', 'keyless');
    if (hasLogs && tlogEntries.length === 0) throw new ReleaseFault('it has no entry of a transparency log', 'root');
    const times = [
      ...tlogEntries.filter(each => each.inclusionPromise),
      ...(timestampVerificationData?.rfc3161Timestamps ?? []),
    ];
    if (times.length === 0) throw new ReleaseFault('it has no timestamp, which would prove when it was signed', 'root');
    const { identity } = verified(verifier, bundle);
    const signer = identity?.subjectAlternativeName ?? 'no name';
    if (typeof name === 'string' ? signer !== name : !name.test(signer))
      throw new ReleaseFault(`it is signed by ${signer}`, 'signer');
    const by = identity?.extensions?.issuer;
    if (by !== issuer) throw new ReleaseFault(`it is signed by ${signer} of the issuer ${by}`, 'signer');
  };
}

const CHANGED = 'its signature does not fit its text: it was changed';
const NO_LOG = 'its entry is in no transparency log of the trusted root';
/** Reasons by the codes of @sigstore/verify; others are its own words. */
const REASONS: Readonly<Record<string, string>> = {
  CERTIFICATE_ERROR: 'its certificate is of no authority of the trusted root, or was not valid when it signed',
  TIMESTAMP_ERROR: 'its timestamp is of no authority of the trusted root',
  SIGNATURE_ERROR: CHANGED,
  TLOG_BODY_ERROR: 'its entry of the transparency log is about something else',
  TLOG_INCLUSION_PROMISE_ERROR: NO_LOG,
  TLOG_INCLUSION_PROOF_ERROR: NO_LOG,
  TLOG_MISSING_INCLUSION_ERROR: NO_LOG,
};

function verified(verifier: Verifier, bundle: Bundle) {
  try {
    return verifier.verify(toSignedEntity(bundle));
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    const why = REASONS[error.code] ?? 'it cannot be verified';
    throw new ReleaseFault(`${why} (${error.message})`, why === CHANGED ? 'changed' : 'root');
  }
}
